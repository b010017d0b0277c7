package gcp_test

import (
	"context"
	"testing"
	"time"

	hostedtest "github.com/det-deploy/det-deploy/test/contract/hosted"
	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
)

// How long `up` takes from nothing, and `down`, when each call takes 200 ms, an operation of
// Compute Engine two seconds and the machines no time at all. test/bench/run.sh shows what is
// logged here. What is created takes as long as 33 calls.
func TestHowManyCallsUpWaitsFor(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const call = 200 * time.Millisecond
		s := newStage(t, gcptest.Options{Latency: call, Operation: 2 * time.Second, Page: 500})
		s.sleep = func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
		s.MeasureLife(t, call, s.world.Journal, hostedtest.Most{Behind: 44, InAll: 52})
	})
}
