package aws_test

import (
	"errors"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/cloud/aws/awstest"
	"github.com/det-deploy/det-deploy/installer"
	"github.com/det-deploy/det-deploy/installer/installertest"
	"github.com/det-deploy/det-deploy/installer/plan"
)

// How long `up` takes from nothing when each call takes 200 ms and the machines
// take no time at all, in calls that wait for each other. test/bench/run.sh shows what
// is logged here.
func TestHowManyCallsUpWaitsFor(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const call = 200 * time.Millisecond
		s := newStage(inMemory(awstest.Options{Latency: call, Page: 100}))
		var in *installer.Installer
		var p plan.Plan
		installertest.Path{Command: "up", Call: call, Journal: s.world.Journal}.Measure(t,
			installertest.Part{Name: "looking", Do: func() (err error) { in, _, err = s.operator(t.Context()); return err }},
			installertest.Part{Name: "survey", Do: func() error {
				report, made, err := in.Survey(t.Context())
				p = made
				return errors.Join(report.Err(), err)
			}},
			installertest.Part{Name: "making", Do: func() error { return in.Up(t.Context(), p) }})
	})
}
