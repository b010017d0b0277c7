package wire

import (
	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/aws/attest"
	"github.com/det-deploy/det-deploy/cloud/local"
	"github.com/det-deploy/det-deploy/master/config"
)

// attestors check what launched machines show, by the form of the proof. A master
// takes only the forms of the platforms on which it launches.
func (s site) attestors() (all map[string]cloud.Attestor, err error) {
	all = make(map[string]cloud.Attestor)
	var onAWS []config.AWSProvider
	for _, p := range s.cfg.ResourcePools {
		switch {
		case p.Provider == nil:
		case p.Provider.AWS != nil:
			onAWS = append(onAWS, *p.Provider.AWS)
		case p.Provider.Local != nil:
			if all[local.ProofKind], err = localAttestor(s.cfg); err != nil {
				return nil, err
			}
		}
	}
	if len(onAWS) > 0 {
		all[attest.Kind], err = newAWSAttestor(s, onAWS)
	}
	return all, err
}
