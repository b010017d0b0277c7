package checks_test

import (
	"slices"
	"testing"
	"testing/synctest"

	"google.golang.org/api/compute/v1"

	"github.com/det-deploy/det-deploy/installer/doctor"
	"github.com/det-deploy/det-deploy/installer/target/gcp/checks"
	"github.com/det-deploy/det-deploy/test/fake/cloud/faults"
	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
)

// looks runs all checks but those that need a target, and returns their results by name.
func looks(t *testing.T, s checks.Subject) map[string]doctor.Result {
	t.Helper()
	all := slices.DeleteFunc(s.List(), func(c doctor.Check) bool { return slices.Contains([]string{"programs", "configuration"}, c.Name) })
	out := make(map[string]doctor.Result)
	for _, r := range doctor.Run(t.Context(), all).Results {
		out[r.Name] = r
	}
	return out
}

// Any failed API call makes its check unknown, which does not stop the operation.
func TestFailedCallsMakeChecksUnknown(t *testing.T) {
	t.Parallel()
	prepare := func(t *testing.T) *lab {
		l := newLab(t, gcptest.Options{}, "data-disk", "mine", "master-service-account", "default", "agent-service-account", "none")
		existing(t, l)
		l.giveDisk(t, "us-central1-a", &compute.Disk{Name: "mine", SizeGb: 200})
		return l
	}
	first := prepare(t)
	s := first.subject(t)
	before := len(first.world.Journal())
	for name, r := range looks(t, s) {
		if r.Answer == doctor.Fail {
			t.Errorf("%s: got %+v, want it to be well or unknown", name, r)
		}
	}
	ops := make(map[string]bool)
	for _, e := range first.world.Journal()[before:] {
		ops[e.Op] = true
	}
	if len(ops) < 15 {
		t.Errorf("got %d calls, want many: %v", len(ops), ops)
	}
	for op := range ops {
		for _, f := range []faults.Fault{faults.Throttle, faults.Break, faults.LoseReply} {
			t.Run(op+", "+string(f), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					l := prepare(t)
					s := l.subject(t)
					l.world.FailOp(op, f, f, f, f, f, f, f, f, f, f, f, f)
					for name, r := range looks(t, s) {
						if r.Answer == doctor.Fail {
							t.Errorf("%s: got %+v, want it to be unknown", name, r)
						}
					}
				})
			})
		}
	}
}
