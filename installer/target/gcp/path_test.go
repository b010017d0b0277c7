package gcp_test

import (
	"context"
	"testing"
	"time"

	hostedtest "github.com/det-deploy/det-deploy/test/contract/hosted"
	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
)

// This measures `up` of a new cluster and `down`, with 200 ms per call, two seconds per Compute
// Engine operation and instant machines. test/bench/run.sh prints the logged numbers. The creation
// takes as long as 33 calls.
func TestSequentialCallsOfUp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const call = 200 * time.Millisecond
		s := newStage(t, gcptest.Options{Latency: call, Operation: 2 * time.Second, Page: 500})
		s.sleep = func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
		s.MeasureLife(t, call, s.world.Journal, hostedtest.Most{Behind: 44, InAll: 52})
	})
}
