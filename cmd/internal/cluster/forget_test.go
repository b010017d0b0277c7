package cluster

import (
	"context"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/installer/plan"
	"github.com/det-deploy/det-deploy/installer/spec"
)

// removedCluster is a cluster that is down and has kept its settings.
type removedCluster struct {
	Cluster

	dropped bool
}

func (*removedCluster) ID() string                      { return "lab" }
func (*removedCluster) Absent(context.Context) []string { return []string{"Cluster lab is down."} }
func (*removedCluster) Kept() string                    { return "" }
func (*removedCluster) Memory() Memory {
	return Memory{Settings: ": --spot true", Forget: "aws down --cluster-id lab --forget", Removed: true}
}

func (c *removedCluster) DropSettings(context.Context) error {
	c.dropped = true
	return nil
}

func TestForgettingTheSettingsOfARemovedCluster(t *testing.T) {
	t.Parallel()
	const down, forgotten = "Cluster lab is down.\n", "The settings of cluster lab will be forgotten: --spot true.\n"
	for name, tc := range map[string]struct {
		forget, deleteData, yes bool
		dropped                 bool
		out, said, err          string
	}{
		"kept": {
			out:  "Cluster lab: 0 removed, 1 kept, 0 left.\n  kept  settings lab: are used when the cluster is created again\n",
			said: down + "Its settings are kept; `det-deploy aws down --cluster-id lab --forget` forgets them.\n",
		},
		"not without an answer": {forget: true, said: down + forgotten, err: "use --yes"},
		"forgotten":             {forget: true, yes: true, dropped: true, out: "Cluster lab: 0 removed, 0 kept, 0 left.\n", said: down + forgotten},
		"gone with the data":    {deleteData: true, yes: true, dropped: true, out: "Cluster lab: 0 removed, 0 kept, 0 left.\n", said: down + forgotten},
	} {
		s, out, said := term.Test("", false)
		o := &downOptions{Forget: tc.forget, DeleteData: tc.deleteData}
		o.Streams, o.Output = s, term.Text
		c := new(removedCluster)
		err := o.runRemoved(t.Context(), newPrompt(s, term.Text, tc.yes), c, plan.Plan{Cluster: "lab"})
		if (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
			t.Errorf("%s: got %v, want %q", name, err, tc.err)
		}
		if got := strings.ReplaceAll(said.String(), s.Command("aws"), "det-deploy aws"); c.dropped != tc.dropped || out.String() != tc.out || got != tc.said {
			t.Errorf("%s: got dropped %t\n%s%s", name, c.dropped, out, got)
		}
	}
}

func TestListSettings(t *testing.T) {
	t.Parallel()
	settings := map[string]string{spec.FileSetting: "region: us-west-2", "tls-cert-file": "PEM", "max-agents": "3", "spot": ""}
	if got, want := ListSettings(spec.AWSFlags(), settings), ": --config-file --max-agents 3 --tls-cert-file"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := ListSettings(spec.AWSFlags(), nil); got != "" {
		t.Errorf("got %q, want nothing", got)
	}
}
