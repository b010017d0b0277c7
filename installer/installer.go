// Package installer holds the operations on a whole cluster, the same for every
// platform: plan, up, status, upgrade and down. Each reads as its table of contents.
package installer

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/installer/apply"
	"github.com/det-deploy/det-deploy/installer/doctor"
	"github.com/det-deploy/det-deploy/installer/event"
	"github.com/det-deploy/det-deploy/installer/plan"
	"github.com/det-deploy/det-deploy/installer/record"
)

// Deployment is one cluster on one platform, as far as the installer knows it.
type Deployment interface {
	resource.Target

	// Wanted lists all resources of the cluster. They are made new by each
	// call and have learned nothing yet.
	Wanted() ([]resource.Resource, error)

	// Checks lists what has to hold before anything is changed.
	Checks() []doctor.Check

	// Ready waits until the cluster answers, reporting what it waits for. It is
	// ErrNotAwaited when it was asked not to wait.
	Ready(ctx context.Context, tell func(string)) error
}

// Installer works on one cluster.
type Installer struct {
	Cluster string
	// Platform is the platform's name: "local".
	Platform string
	// Settings are remembered for the next run.
	Settings map[string]string
	// Release is what Up has the cluster run; it is remembered too.
	Release    record.Release
	Deployment Deployment
	Store      record.Store
	// Gate is the one that the deployment's clients ask.
	Gate *resource.Gate
	// Holder says who is at work; Dead knows holders that do not live any more.
	Holder record.Holder
	Dead   func(record.Holder) bool
	Emit   event.Sink
	// SideBySide makes the checks beside the plan: where each answer is a while on its way.
	SideBySide bool
	// LateLists is true where a list shows an object only seconds after it was made: Down
	// then looks a second time no sooner than lists have settled.
	LateLists bool
	// Apply bounds the work; its zero value has good defaults.
	Apply apply.Config
}

// ErrPlanChanged is a world that changed between the plan that was agreed to
// and the lock.
var ErrPlanChanged = errors.New("the cluster has changed since the plan was made")

// ErrNotAwaited is a cluster that was not waited for: whether it answers is not known.
var ErrNotAwaited = errors.New("the cluster was not waited for")

// Check makes every check and changes nothing.
func (in *Installer) Check(ctx context.Context) doctor.Report {
	return doctor.Run(ctx, in.Deployment.Checks())
}

// Plan looks and says what Up would do. A dry run is this and no more.
func (in *Installer) Plan(ctx context.Context) (plan.Plan, error) {
	wanted, err := in.Deployment.Wanted()
	if err != nil {
		return plan.Plan{}, err
	}
	return plan.Compute(ctx, plan.Request{Cluster: in.Cluster, Wanted: wanted, Target: in.Deployment})
}

// Survey makes every check, and says what Up would do. It changes nothing. An error is of
// the plan: a check that fails is in the report, and counts more.
func (in *Installer) Survey(ctx context.Context) (doctor.Report, plan.Plan, error) {
	if !in.SideBySide {
		report := in.Check(ctx)
		if report.Err() != nil {
			return report, plan.Plan{}, nil //nolint:nilerr // it is in the report
		}
		p, err := in.Plan(ctx)
		return report, p, err
	}
	var report doctor.Report
	var checks sync.WaitGroup
	checks.Go(func() { report = in.Check(ctx) })
	p, err := in.Plan(ctx)
	checks.Wait()
	return report, p, err
}

// changedError is ErrPlanChanged with what there is to do now.
type changedError struct{ summary string }

func (e *changedError) Error() string { return fmt.Sprintf("%s (now: %s)", ErrPlanChanged, e.summary) }
func (e *changedError) Unwrap() error { return ErrPlanChanged }
func (e *changedError) Hint() string  { return "run the command again to see the plan as it is now" }
