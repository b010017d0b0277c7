package cluster

import (
	"testing"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/installer"
	"github.com/det-deploy/det-deploy/installer/plan"
	"github.com/det-deploy/det-deploy/installer/record"
)

func TestDownRequiresTypedIDToDeleteData(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, typed string
		deleteData  bool
		want        bool
	}{
		{"yes is enough while data stays", "y\n", false, true},
		{"yes is not enough for data", "y\n", true, false},
		{"the id is", "local\n", true, true},
		{"nothing typed is a no", "\n", false, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s, _, _ := term.Test(tc.typed, true)
			a := newPrompt(s, term.Text, false)
			got, err := a.confirmDown(t.Context(), "local", plan.Plan{}, tc.deleteData)
			if err != nil || got != tc.want {
				t.Errorf("got %t and %v, want %t", got, err, tc.want)
			}
		})
	}
}

func TestReleaseNamesDistinguishBuilds(t *testing.T) {
	t.Parallel()
	one := record.Release{Version: "dev", Programs: map[string]string{"linux-amd64": "1111111122"}}
	other := record.Release{Version: "dev", Programs: map[string]string{"linux-amd64": "2222222233"}}
	for _, tc := range []struct {
		name   string
		u      installer.Upgraded
		dryRun bool
		want   string
	}{
		{"two builds", installer.Upgraded{From: one, To: other, Changed: true}, true, "Cluster lab would be upgraded from det-deploy dev (11111111) to dev (22222222).\n"},
		{"two versions", installer.Upgraded{From: one, To: record.Release{Version: "v2"}, Changed: true}, true, "Cluster lab would be upgraded from det-deploy dev to v2.\n"},
		{"one", installer.Upgraded{From: one, To: one}, false, "Cluster lab already runs det-deploy dev.\n"},
		{"kept", installer.Upgraded{From: one, To: other, Backup: "/b", Changed: true}, false, "Upgraded cluster lab to det-deploy dev (22222222); it was dev (11111111) before.\nThe previous store is kept in /b.\n"},
	} {
		s, out, _ := term.Test("", false)
		if err := (prompt{Streams: s, Output: term.Text}).printUpgrade("lab", tc.u, tc.dryRun); err != nil || out.String() != tc.want {
			t.Errorf("%s: got %q and %v, want %q", tc.name, out, err, tc.want)
		}
	}
}
