package gcp_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/cloud/resource"
	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
	googletest "github.com/det-deploy/det-deploy/test/google"
)

// In each layout, Google's own clients find by its label exactly the resources that `up` created.
func TestGoogleClientsListEachLayout(t *testing.T) {
	t.Parallel()
	var sites []googletest.Site
	var all [][]resource.Found
	for _, l := range layouts() {
		s, _ := l.prepared(t, gcptest.Options{Page: 2})
		must(t, s.Up(t.Context()))
		_, target, err := s.operator(t.Context())
		must(t, err)
		found, err := target.Inventory(t.Context(), "lab")
		must(t, err)
		sites, all = append(sites, googletest.Serve(t, s.world)), append(all, found)
	}
	for _, c := range googletest.Clients() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			for i, got := range c.Owned(t, "lab", sites...) {
				if d := cmp.Diff(got, namesOf(all[i], c.Kinds)); d != "" {
					t.Errorf("%s: got -, want +:\n%s", layouts()[i].name, d)
				}
			}
		})
	}
}

// The gcloud commands of the documentation list the resources of a cluster.
func TestDocumentedCommandsListResources(t *testing.T) {
	t.Parallel()
	s := newStage(t, gcptest.Options{})
	must(t, s.Up(t.Context()))
	site := googletest.Serve(t, s.world)
	text, err := os.ReadFile("../../../docs/gcp-resources.md")
	must(t, err)
	commands := 0
	for line := range strings.Lines(string(text)) {
		args, documented := strings.CutPrefix(line, "gcloud ")
		if !documented {
			continue
		}
		commands++
		var found json.RawMessage
		googletest.Gcloud(t, site, &found, strings.Fields(args)...)
		if !strings.Contains(string(found), "det-deploy-cluster") {
			t.Errorf("gcloud %s: got %s, want resources with the mark of the cluster", args, found)
		}
	}
	if commands == 0 {
		t.Error("got no command in docs/gcp-resources.md")
	}
}

// namesOf returns the objects of some kinds, such as "instance/det-lab-master".
func namesOf(all []resource.Found, kinds []string) []string {
	var out []string
	for _, f := range all {
		if slices.Contains(kinds, f.Kind) {
			name, _, _ := strings.Cut(f.Name, "@")
			out = append(out, f.Kind+"/"+name)
		}
	}
	slices.Sort(out)
	return out
}
