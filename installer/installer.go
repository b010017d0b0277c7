// Package installer holds the operations on a whole cluster, the same for every
// platform: plan, up, status, upgrade and down. Each reads as its table of contents.
package installer

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/installer/apply"
	"github.com/det-deploy/det-deploy/installer/doctor"
	"github.com/det-deploy/det-deploy/installer/event"
	"github.com/det-deploy/det-deploy/installer/phase"
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
			return report, plan.Plan{}, nil
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

// Up carries out the agreed plan and returns when the cluster answers.
func (in *Installer) Up(ctx context.Context, agreed plan.Plan) error {
	s := &session{Installer: in, action: "up"}
	var fresh plan.Plan
	return phase.Run(
		ctx, in.Emit,
		phase.Phase{Name: "lock the cluster", Do: s.acquireLease, Undo: s.releaseLease},
		phase.Phase{Name: "compare with the agreed plan", Do: func(ctx context.Context) (err error) {
			fresh, err = s.comparePlans(ctx, agreed, in.Plan)
			return err
		}},
		// No undo: running up again continues.
		phase.Phase{Name: "apply the plan", Do: func(ctx context.Context) error { return s.applyPlan(ctx, fresh) }},
		phase.Phase{Name: "wait for the cluster", Do: s.awaitReady},
		phase.Phase{Name: "unlock the cluster", Do: s.releaseLease},
	)
}

// session is an operation that holds, or is about to hold, the lease.
type session struct {
	*Installer
	action string
	lease  *record.Lease
	book   *record.Book
	shut   func()
}

func (s *session) acquireLease(ctx context.Context) error {
	h := s.Holder
	h.Action = s.action
	lease, err := record.Acquire(ctx, record.Request{Cluster: s.Cluster, Store: s.Store, Holder: h, Dead: s.Dead})
	if err != nil {
		return err
	}
	s.lease = lease
	s.book, err = record.Open(ctx, s.Store, lease, record.Record{Cluster: s.Cluster, Target: s.Platform})
	if err != nil {
		return errors.Join(err, s.releaseLease(context.WithoutCancel(ctx)))
	}
	if u := s.book.Record().Upgrade; u != nil && s.action == "up" {
		return errors.Join(&UnderWayError{Cluster: s.Cluster, To: u.To, Abandon: s.abandonCommand(Begun)}, s.releaseLease(context.WithoutCancel(ctx)))
	}
	s.shut = s.Gate.Open(lease.Check)
	return nil
}

func (s *session) releaseLease(ctx context.Context) error {
	if s.shut != nil {
		s.shut()
	}
	return s.lease.Release(ctx)
}

func (s *session) comparePlans(ctx context.Context, agreed plan.Plan, look func(context.Context) (plan.Plan, error)) (plan.Plan, error) {
	fresh, err := look(ctx)
	if err != nil {
		return plan.Plan{}, err
	}
	if !fresh.Same(agreed) {
		return plan.Plan{}, &changedError{fresh.Summary()}
	}
	return fresh, nil
}

func (s *session) applyPlan(ctx context.Context, p plan.Plan) error {
	if s.action == "up" {
		s.book.Note(func(r *record.Record) { r.Settings, r.Release = s.Settings, s.Release })
	}
	c := s.Apply
	c.Journal, c.Target, c.Check, c.Emit = s.book, s.Deployment, s.lease.Check, s.Emit
	c.Note = func(what string) { s.lease.Note(s.action + ": " + what) }
	return apply.Run(ctx, p, c)
}

func (s *session) awaitReady(ctx context.Context) error {
	err := s.Deployment.Ready(ctx, func(what string) {
		s.Emit.Emit(event.Event{Type: event.Progress, Scope: event.Phase, Subject: "wait for the cluster", Message: what})
	})
	if errors.Is(err, ErrNotAwaited) {
		return nil
	}
	if err != nil {
		return err
	}
	return s.book.Change(ctx, func(r *record.Record) { r.Ready, r.Answered = time.Now().UTC(), s.Release })
}

// changedError is ErrPlanChanged with what there is to do now.
type changedError struct{ summary string }

func (e *changedError) Error() string { return fmt.Sprintf("%s (now: %s)", ErrPlanChanged, e.summary) }
func (e *changedError) Unwrap() error { return ErrPlanChanged }
func (e *changedError) Hint() string  { return "run the command again to see the plan as it is now" }
