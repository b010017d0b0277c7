package infra_test

import (
	"testing"
	"time"

	awstest "github.com/det-deploy/det-deploy/test/fake/aws"
)

// The length of the critical path of plan and apply in calls. Each call takes 200 ms, and
// independent calls run in parallel.
func TestCriticalPathLength(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const each = 200 * time.Millisecond
		m := inMemory(awstest.Options{Latency: each, Page: 100})
		in := m.operator()
		start := time.Now()
		p, err := in.Plan(t.Context())
		must(t, err)
		planned := time.Since(start)
		must(t, in.Up(t.Context(), p))
		made := time.Since(start) - 2*planned // the apply computes the plan once more under the lock
		t.Logf("a plan takes %d calls, applying it %d", planned/each, made/each)
		if n := made / each; n > 14 {
			t.Errorf("got %d calls one after the other, want 14 at most", n)
		}
	})
}
