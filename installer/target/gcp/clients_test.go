package gcp_test

import (
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
