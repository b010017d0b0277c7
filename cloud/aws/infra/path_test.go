package infra_test

import (
	"testing"
	"time"

	awstest "github.com/det-deploy/det-deploy/test/fake/aws"
)

// How many calls long the way is through looking, agreeing and making: each call
// takes 200 ms, and what does not wait for another is made side by side.
func TestTheLongestWayIsShort(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const each = 200 * time.Millisecond
		m := inMemory(awstest.Options{Latency: each, Page: 100})
		in := m.operator()
		start := time.Now()
		p, err := in.Plan(t.Context())
		must(t, err)
		planned := time.Since(start)
		must(t, in.Up(t.Context(), p))
		made := time.Since(start) - 2*planned // under the lock it is planned once more
		t.Logf("a plan is %d calls long, making what it says %d", planned/each, made/each)
		if n := made / each; n > 14 {
			t.Errorf("got %d calls one after the other, want 14 at most", n)
		}
	})
}
