package edgetest

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/cloud/edge"
)

// Grants lists the callers of each call and the permissions of each caller.
type Grants struct {
	Calls   edge.Calls
	Callers []string
	// CalledBy returns the callers of a call.
	CalledBy func(op string) []string
	// Extras returns permissions of a caller that none of our calls needs.
	Extras func(caller string) []string
	// Granted returns the permissions in a caller's policy documents.
	Granted func(caller string) []string
	// Unmade lists the calls that only tests make. Their permissions are granted to no caller.
	Unmade []string
}

// Check reports an error for each caller whose granted permissions differ from those that its calls
// need: none is missing, and none is superfluous.
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
