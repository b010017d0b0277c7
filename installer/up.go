package installer

import (
	"cmp"
	"context"
	"errors"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/det-deploy/det-deploy/installer/apply"
	"github.com/det-deploy/det-deploy/installer/event"
	"github.com/det-deploy/det-deploy/installer/plan"
	"github.com/det-deploy/det-deploy/installer/record"
)

// Up executes the confirmed plan and returns when the cluster answers.
func (in *Installer) Up(ctx context.Context, agreed plan.Plan) error {
	s := &session{Installer: in, action: "up"}
	var fresh plan.Plan
	return runPhases(
		ctx, in.Emit,
		phase{Name: "lock the cluster", Do: s.takeLease, Undo: s.releaseLease},
		phase{Name: "compare with the confirmed plan", Do: func(ctx context.Context) (err error) {
			fresh, err = s.comparePlans(ctx, agreed, in.Plan)
			return err
		}},
		// This phase is not undone, because another `up` continues it. The outcome of creations is
		// recorded during the wait.
		phase{
			Name: "apply the plan", Do: func(ctx context.Context) error { return s.applyMoving(ctx, fresh) },
			Undo: func(context.Context) error { return s.settleIntents() },
		},
		phase{Name: "wait for the cluster", Do: s.awaitReady},
		phase{Name: "unlock the cluster", Do: s.releaseLease},
	)
}

// session is an operation that holds, or will hold, the lease.
type session struct {
	*Installer
	action string
	lease  *record.Lease
	book   *record.Book
	shut   func()
	// settle records the outcome of creations, if apply left that for later.
	settle func() error
}

// acquireLease takes the lease, opens the record, and waits until its store is complete.
func (s *session) acquireLease(ctx context.Context) error {
	if err := s.takeLease(ctx); err != nil {
		return err
	}
	if err := errors.Join(s.openRecord(ctx), s.lease.Finished()); err != nil {
		return errors.Join(err, s.releaseLease(context.WithoutCancel(ctx)))
	}
	return nil
}

func (s *session) takeLease(ctx context.Context) (err error) {
	h := s.Holder
	h.Action = s.action
	s.lease, err = record.Acquire(ctx, record.Request{Cluster: s.Cluster, Store: s.Store, Holder: h, Dead: s.Dead})
	if err == nil {
		s.shut = s.Gate.Open(s.lease.Check)
	}
	return err
}

// openRecord reads the record under the lease.
func (s *session) openRecord(ctx context.Context) (err error) {
	s.book, err = record.Open(ctx, s.Store, s.lease, record.Record{Cluster: s.Cluster, Target: s.Platform})
	if err != nil {
		return err
	}
	if u := s.book.Record().Upgrade; u != nil && s.action == "up" {
		return &UnderWayError{Cluster: s.Cluster, To: u.To, Abandon: s.abandonCommand(Begun)}
	}
	return nil
}

func (s *session) releaseLease(ctx context.Context) error {
	if s.shut != nil {
		s.shut()
	}
	return s.lease.Release(ctx)
}

// comparePlans plans again under the lease, and returns an error if the plan differs from the
// confirmed one. It opens the record concurrently. Planning reads the record too; an error of
// opening it takes precedence, because that one has a remedy.
func (s *session) comparePlans(ctx context.Context, agreed plan.Plan, look func(context.Context) (plan.Plan, error)) (plan.Plan, error) {
	var fresh plan.Plan
	var opened error
	g, both := errgroup.WithContext(ctx)
	g.Go(func() error {
		opened = s.openRecord(ctx)
		return opened
	})
	g.Go(func() (err error) {
		fresh, err = look(both)
		return err
	})
	looked := g.Wait()
	if err := errors.Join(cmp.Or(opened, looked), s.lease.Finished()); err != nil {
		return plan.Plan{}, err
	}
	if !fresh.Same(agreed) {
		return plan.Plan{}, &changedError{fresh.Summary()}
	}
	return fresh, nil
}

func (s *session) applyPlan(ctx context.Context, p plan.Plan) error {
	c := s.Apply
	if s.action == "up" {
		s.book.Note(func(r *record.Record) { r.Settings, r.Release = s.Settings, s.Release })
		c.Later = func(settle func() error) { s.settle = settle }
	}
	c.Journal, c.Target, c.Check, c.Emit = s.book, s.Deployment, s.lease.Check, s.Emit
	c.Note = func(what string) { s.lease.Note(s.action + ": " + what) }
	return apply.Run(ctx, p, c)
}

// settleIntents records the outcome of creations, if that is still to do.
func (s *session) settleIntents() error {
	settle := s.settle
	if settle == nil {
		return nil
	}
	s.settle = nil
	return settle()
}

// awaitReady waits for the cluster, and meanwhile records the outcome of creations.
func (s *session) awaitReady(ctx context.Context) error {
	var g errgroup.Group
	g.Go(s.settleIntents)
	err := s.Deployment.Ready(ctx, func(what string) {
		s.Emit.Emit(event.Event{Type: event.Progress, Scope: event.Phase, Subject: "wait for the cluster", Message: what})
	})
	settleErr := g.Wait()
	if errors.Is(err, ErrNotAwaited) {
		return settleErr
	}
	if err := errors.Join(err, settleErr); err != nil {
		return err
	}
	return s.book.Change(ctx, func(r *record.Record) { r.Ready, r.Answered = time.Now().UTC(), s.Release })
}
