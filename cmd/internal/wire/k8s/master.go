package k8s

import (
	"fmt"

	"sigs.k8s.io/yaml"

	"github.com/det-deploy/det-deploy/cmd/internal/wire"
	"github.com/det-deploy/det-deploy/k8s/helm"
	values "github.com/det-deploy/det-deploy/master/config/helm"
)

// masterTakes validates the configuration in a rendered chart as the master does when it starts, so that
// errors are reported before any object is created.
func masterTakes(out helm.Rendered, cluster string) error {
	for _, o := range out.Objects {
		if o.Kind != "Secret" || o.Name != "determined-master-config-"+cluster {
			continue
		}
		var s struct {
			Data map[string][]byte `json:"data"`
		}
		if err := yaml.Unmarshal([]byte(o.YAML), &s); err != nil {
			return fmt.Errorf("cannot read the chart's %s: %w", o, err)
		}
		l, err := values.Read(s.Data["values.yaml"], "values", nil)
		if err != nil {
			return err
		}
		return values.Locate(l, wire.Refusals(l.Master))
	}
	return nil // the chart is not det-deploy's and has its own master
}
