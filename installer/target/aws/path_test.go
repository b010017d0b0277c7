package aws_test

import (
	"testing"
	"time"

	hostedtest "github.com/det-deploy/det-deploy/test/contract/hosted"
	awstest "github.com/det-deploy/det-deploy/test/fake/aws"
)

// How long `up` takes from nothing, and `down`, when each call takes 200 ms and the machines
// take no time at all, in calls that wait for each other. test/bench/run.sh shows what
// is logged here.
func TestHowManyCallsUpWaitsFor(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const call = 200 * time.Millisecond
		s := newStage(inMemory(awstest.Options{Latency: call, Page: 100}))
		s.MeasureLife(t, call, s.world.Journal, hostedtest.Most{Behind: 20, InAll: 30})
	})
}
