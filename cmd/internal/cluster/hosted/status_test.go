package hosted

import (
	"testing"

	"github.com/det-deploy/det-deploy/cmd/internal/wire"
	"github.com/det-deploy/det-deploy/installer"
	"github.com/det-deploy/det-deploy/installer/plan"
)

func TestStatusNamesTheMachine(t *testing.T) {
	t.Parallel()
	a := &wire.AWS{Opened: wire.Opened{Installer: &installer.Installer{Cluster: "lab"}}}
	for console, want := range map[string]string{
		"console i-1": "`det-deploy aws logs --cluster-id lab` shows what it does; while it boots, `console i-1` does.",
		"":            "`det-deploy aws logs --cluster-id lab` shows what it does.",
	} {
		c := &Cluster{Cloud: a, Platform: "aws", Console: func(plan.Plan) string { return console }}
		if got := c.logsHint(plan.Plan{}); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
