package clouds

import (
	"testing"

	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
	"github.com/det-deploy/det-deploy/installer"
	"github.com/det-deploy/det-deploy/installer/plan"
)

func TestStatusNamesTheMachine(t *testing.T) {
	t.Parallel()
	c := &Cluster{
		CloudCluster: &wire.CloudCluster{Opened: wire.Opened{Installer: &installer.Installer{Cluster: "lab"}}},
		Words:        Words{Name: "aws", Master: func(string) string { return "master" }, Console: func(_ *wire.CloudCluster, id string) string { return "console " + id }},
	}
	machines := []plan.Step{
		{Found: resource.Found{Kind: "vpc", ID: "vpc-1", Name: "master"}},
		{Found: resource.Found{Kind: "instance", ID: "i-2", Name: "agent"}},
		{Found: resource.Found{Kind: "instance", ID: "i-1", Name: "master"}},
	}
	for want, p := range map[string]plan.Plan{
		"`det-deploy aws logs --cluster-id lab` shows its log; while it boots, `console i-1` does.": {Steps: machines},
		"`det-deploy aws logs --cluster-id lab` shows its log.":                                     {Steps: machines[:2]},
	} {
		if got := c.logsHint(p); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
