package k8s

import (
	"errors"
	"fmt"
	"testing"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/installer"
)

// Only for a cluster of another version is the comparison with this program's chart skipped. Data of
// another version or a failed query must not hide drift.
func TestStatusComparesUnlessVersionDiffers(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		fits error
		want bool
	}{
		"it fits":         {nil, false},
		"another version": {&installer.ReleaseError{}, true},
		"an ill master":   {&installer.StandingError{}, true},
		"in an upgrade":   {fmt.Errorf("look: %w", &installer.UnderWayError{}), true},
		"data of another": {&cloud.Error{Kind: cloud.Conflict, Op: "install version 1.1.0", Err: errors.New("kept")}, false},
		"no answer":       {errors.New("no answer"), false},
	} {
		if got := runsOther(tc.fits); got != tc.want {
			t.Errorf("%s: got %t, want %t", name, got, tc.want)
		}
	}
}
