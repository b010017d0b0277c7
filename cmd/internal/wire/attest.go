package wire

import (
	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/local"
	"github.com/det-deploy/det-deploy/master/config"
)

// attestors check what launched machines show, by the form of the proof. A master
// takes only the forms of the platforms on which it launches.
func attestors(cfg config.Master) (map[string]cloud.Attestor, error) {
	all := make(map[string]cloud.Attestor)
	for _, p := range cfg.ResourcePools {
		if p.Provider == nil || p.Provider.Local == nil {
			continue
		}
		a, err := localAttestor(cfg)
		if err != nil {
			return nil, err
		}
		all[local.ProofKind] = a
	}
	return all, nil
}
