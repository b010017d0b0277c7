package gcp_test

import (
	"context"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/cloud/gcp/gcptest"
)

// How long `up` takes from nothing when each call takes 200 ms, an operation of Compute
// Engine two seconds and the machines no time at all. test/bench/run.sh shows what is
// logged here.
func TestHowManyCallsUpWaitsFor(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const each = 200 * time.Millisecond
		s := newStage(t, gcptest.Options{Latency: each, Operation: 2 * time.Second, Page: 500})
		s.sleep = func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
		last := time.Now()
		passed := func(stage string) time.Duration {
			d := time.Since(last)
			last = time.Now()
			t.Logf("up, %-7s %5.1f s, as long as %2d calls of 200 ms", stage, d.Seconds(), d/each)
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
