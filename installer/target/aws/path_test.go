package aws_test

import (
	"testing"
	"time"

	hostedtest "github.com/det-deploy/det-deploy/test/contract/hosted"
	awstest "github.com/det-deploy/det-deploy/test/fake/aws"
)

// This measures `up` of a new cluster and `down`, with 200 ms per call and instant machines, as the
// number of sequential calls. test/bench/run.sh prints the logged numbers.
func TestSequentialCallsOfUp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const call = 200 * time.Millisecond
		s := newStage(inMemory(awstest.Options{Latency: call, Page: 100}))
		s.MeasureLife(t, call, s.world.Journal, hostedtest.Most{Behind: 20, InAll: 30})
	})
}
