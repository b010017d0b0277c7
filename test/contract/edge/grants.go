package edgetest

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/cloud/edge"
)

// Grants says who makes which calls, and what each caller is allowed.
type Grants struct {
	Calls   edge.Calls
	Callers []string
	// CalledBy lists who makes a call.
	CalledBy func(op string) []string
	// Extras lists what a caller is allowed that none of our calls needs.
	Extras func(caller string) []string
	// Granted lists the permissions in a caller's documents.
	Granted func(caller string) []string
	// Unmade lists the calls that only tests make. Their permissions are granted to
	// no caller.
	Unmade []string
}

// Check compares, for each caller, what is granted with what is called: nothing is
// called that is not granted, and nothing granted that is not called.
func (g Grants) Check(t *testing.T) {
	t.Helper()
	for _, caller := range g.Callers {
		want := slices.Clone(g.Extras(caller))
		for _, c := range g.Calls {
			if slices.Contains(g.CalledBy(c.Op), caller) {
				want = append(want, c.Permissions...)
			}
		}
		if d := cmp.Diff(compactSorted(g.Granted(caller)), compactSorted(want)); d != "" {
			t.Errorf("%s: granted -, called +:\n%s", caller, d)
		}
	}
	for _, c := range g.Calls {
		if uncalled := len(g.CalledBy(c.Op)) == 0; uncalled != slices.Contains(g.Unmade, c.Op) {
			t.Errorf("%s: got a call without a caller: %t", c.Op, uncalled)
		}
	}
}

func compactSorted(texts []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(texts)))
}
