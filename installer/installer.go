// Package installer implements the operations on a cluster, the same for every platform: plan, up,
// status, upgrade and down.
package installer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/installer/apply"
	"github.com/det-deploy/det-deploy/installer/doctor"
	"github.com/det-deploy/det-deploy/installer/event"
	"github.com/det-deploy/det-deploy/installer/plan"
	"github.com/det-deploy/det-deploy/installer/record"
)

// Deployment is one cluster on one platform.
type Deployment interface {
	resource.Target

	// Wanted returns all resources of the cluster. Each call returns new resources.
	Wanted() ([]resource.Resource, error)

	// Checks returns the preflight checks.
	Checks() []doctor.Check

	// Ready waits until the cluster answers, and reports its progress. It returns ErrNotAwaited if
	// it was configured not to wait.
	Ready(ctx context.Context, tell func(string)) error
}

// Installer operates on one cluster.
type Installer struct {
	Cluster string
	// Platform is the name of the platform, such as "local".
	Platform string
	// Settings are recorded for the next run.
	Settings map[string]string
	// Release is the release that Up installs; it is recorded too.
	Release    record.Release
	Deployment Deployment
	Store      record.Store
	// Gate is asked by the deployment's clients before each change.
	Gate *resource.Gate
	// Holder identifies this process. Dead reports whether another holder is known to have died.
	Holder record.Holder
	Dead   func(record.Holder) bool
	Emit   event.Sink
	// SideBySide runs the checks concurrently with planning, for platforms with slow calls.
	SideBySide bool
	// CheckLimit is the timeout of one check; zero means doctor.Limit.
	CheckLimit time.Duration
	// LateLists reports that lists show new objects only after some seconds. Down then takes its
	// second inventory no sooner than lists have settled.
	LateLists bool
	// Apply configures the execution; its zero value has good defaults.
	Apply apply.Config
}

// ErrPlanChanged reports that the cluster changed between the confirmation of a plan and the lock.
var ErrPlanChanged = errors.New("the cluster has changed since the plan was made")

// ErrNotAwaited reports that Ready did not wait, so that it is unknown whether the cluster answers.
var ErrNotAwaited = errors.New("did not wait for the cluster")

// Check runs all checks. It changes nothing.
func (in *Installer) Check(ctx context.Context) doctor.Report {
	return in.runChecks(ctx, in.Deployment.Checks())
}

// CheckPlan runs the checks whose problems are shown with a plan, and returns those that did not pass.
func (in *Installer) CheckPlan(ctx context.Context) doctor.Report {
	checks := slices.DeleteFunc(in.Deployment.Checks(), func(c doctor.Check) bool { return !c.Plan })
	report := in.runChecks(ctx, checks)
	report.Results = slices.DeleteFunc(report.Results, func(r doctor.Result) bool { return r.Answer == doctor.Pass })
	return report
}

func (in *Installer) runChecks(ctx context.Context, checks []doctor.Check) doctor.Report {
	return doctor.RunWithin(ctx, cmp.Or(in.CheckLimit, doctor.Limit), checks)
}

// Plan returns the plan of Up. It changes nothing.
func (in *Installer) Plan(ctx context.Context) (plan.Plan, error) {
	wanted, err := in.Deployment.Wanted()
	if err != nil {
		return plan.Plan{}, err
	}
	return plan.Compute(ctx, plan.Request{Cluster: in.Cluster, Wanted: wanted, Target: in.Deployment})
}

// Survey runs all checks and returns the plan of Up. It changes nothing. The error is that of the
// plan; failed checks are in the report and take precedence.
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

// changedError is ErrPlanChanged with the new plan's summary.
type changedError struct{ summary string }

func (e *changedError) Error() string { return fmt.Sprintf("%s (now: %s)", ErrPlanChanged, e.summary) }
func (e *changedError) Unwrap() error { return ErrPlanChanged }
func (e *changedError) Hint() string  { return "run the command again to see the current plan" }
