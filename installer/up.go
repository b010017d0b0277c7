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

// Up carries out the agreed plan and returns when the cluster answers.
func (in *Installer) Up(ctx context.Context, agreed plan.Plan) error {
	s := &session{Installer: in, action: "up"}
	var fresh plan.Plan
	return runPhases(
		ctx, in.Emit,
		phase{Name: "lock the cluster", Do: s.takeLease, Undo: s.releaseLease},
		phase{Name: "compare with the agreed plan", Do: func(ctx context.Context) (err error) {
			fresh, err = s.comparePlans(ctx, agreed, in.Plan)
			return err
		}},
		// No undo: running up again continues. What was made is noted beside the wait.
		phase{
			Name: "apply the plan", Do: func(ctx context.Context) error { return s.applyMoving(ctx, fresh) },
			Undo: func(context.Context) error { return s.settleIntents() },
		},
		phase{Name: "wait for the cluster", Do: s.awaitReady},
		phase{Name: "unlock the cluster", Do: s.releaseLease},
	)
}

// session is an operation that holds, or is about to hold, the lease.
type session struct {
	*Installer
	action string
	lease  *record.Lease
	book   *record.Book
	shut   func()
	// settle notes which creations have happened, where apply has left that for later.
	settle func() error
}

// acquireLease takes the lease, opens the record, and has its place finished.
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

// comparePlans looks again, now that the lease is held, and refuses when the plan is not the
// agreed one. Beside that it opens the record, and has its place finished. A look reads the record too:
// what is wrong with it is said by opening it, which knows what to do.
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

// settleIntents notes which creations have happened, if that is left to do.
func (s *session) settleIntents() error {
	settle := s.settle
	if settle == nil {
		return nil
	}
	s.settle = nil
	return settle()
}

// awaitReady waits for the cluster, and beside that has noted what was made.
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
