package gcp_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/cloud/gcp/gcptest"
	"github.com/det-deploy/det-deploy/installer"
	"github.com/det-deploy/det-deploy/installer/installertest"
	"github.com/det-deploy/det-deploy/installer/plan"
)

// How long `up` takes from nothing when each call takes 200 ms, an operation of Compute
// Engine two seconds and the machines no time at all. test/bench/run.sh shows what is
// logged here.
func TestHowManyCallsUpWaitsFor(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const call = 200 * time.Millisecond
		s := newStage(t, gcptest.Options{Latency: call, Operation: 2 * time.Second, Page: 500})
		s.sleep = func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
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
