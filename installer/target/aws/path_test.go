package aws_test

import (
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/cloud/aws/awstest"
)

// How long `up` takes from nothing when each call takes 200 ms and the machines
// take no time at all, in calls that wait for each other. test/bench/run.sh shows what
// is logged here.
func TestHowManyCallsUpWaitsFor(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const each = 200 * time.Millisecond
		s := newStage(inMemory(awstest.Options{Latency: each, Page: 100}))
		last := time.Now()
		passed := func(stage string) time.Duration {
			d := time.Since(last)
			last = time.Now()
			t.Logf("up, %-7s %5.1f s, %2d calls of 200 ms one after the other", stage, d.Seconds(), d/each)
			return d
		}
		in, _, err := s.operator(t.Context())
		must(t, err)
		total := passed("looking")
		must(t, in.Check(t.Context()).Err())
		total += passed("checks")
		p, err := in.Plan(t.Context())
		must(t, err)
		total += passed("plan")
		must(t, in.Up(t.Context(), p))
		total += passed("making")
		t.Logf("up, in all  %5.1f s", total.Seconds())
	})
}
