package task

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/det-deploy/det-deploy/delay"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/master/task/lifecycle"
	"github.com/det-deploy/det-deploy/master/task/spec"
)

// Assigned implements rm.Tasks.
func (t *Tasks) Assigned(ctx context.Context, as rm.Assignment) ([]*agentv1.Spec, error) {
	e, _, found := t.reg.findAllocation(as.Allocation)
	if !found {
		return nil, fmt.Errorf("assign allocation %s: it is not known", as.Allocation)
	}
	for {
		specs, err := t.assign(ctx, e, as)
		if !passing(err) {
			return specs, err
		}
		// An error would end the allocation, which the state of the database must not.
		t.cfg.Log.Warn("cannot store a placement; trying again", "allocation_id", as.Allocation, "err", err)
		if err := delay.For(ctx, storePause); err != nil {
			return nil, err
		}
	}
}

// storePause is between two tries to reach a database that does not answer.
const storePause = time.Second

// passing says that an error is the database's and will go away.
func passing(err error) bool {
	return errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrOutcomeUnknown) || errors.Is(err, store.ErrFull)
}

func (t *Tasks) assign(ctx context.Context, e *entry, as rm.Assignment) ([]*agentv1.Spec, error) {
	err := t.apply(ctx, e, func(s snapshot) (snapshot, error) {
		a, _ := s.allocation(as.Allocation)
		next, err := a.Assign(as)
		if err != nil {
			return s, err
		}
		return s.with(next), nil
	})
	if err != nil {
		return nil, err
	}
	return t.specs(ctx, e.now().task, as)
}

// specs builds what to run. Its tokens are made anew each time, because only their
// hashes are kept.
func (t *Tasks) specs(ctx context.Context, task lifecycle.Task, as rm.Assignment) ([]*agentv1.Spec, error) {
	cfg, err := spec.Load(task.Config)
	if err != nil {
		return nil, fmt.Errorf("assign allocation %s: %w", as.Allocation, err)
	}
	own, user, err := t.cfg.Tokens.TaskTokens(ctx, task.UserID, string(as.Allocation))
	if err != nil {
		return nil, fmt.Errorf("assign allocation %s: %w", as.Allocation, err)
	}
	return spec.Build(spec.Run{
		Config: cfg, Defaults: t.cfg.Defaults(as.Pool), Task: task.ID, Allocation: as.Allocation,
		Type: string(task.Kind), Username: task.Username, User: task.Unix,
		Session: own, UserToken: user, HasContext: task.HasContext, HasHook: task.HasHook,
		Policy: t.policyOf(task.UserID, as.Pool),
	}, as.Containers), nil
}

// Changed implements rm.Tasks.
func (t *Tasks) Changed(ctx context.Context, c rm.ContainerChange) error {
	e, err := t.alter(ctx, c.Allocation, func(a lifecycle.Allocation) lifecycle.Allocation { return a.Change(c) })
	if err != nil || e == nil {
		return err
	}
	return t.enforce(ctx, t.reg.manager(), e)
}

// Preempted implements rm.Tasks.
func (t *Tasks) Preempted(ctx context.Context, id rm.AllocationID, reason string, deadline time.Time) (listens bool, err error) {
	now := t.cfg.Now()
	_, err = t.alter(ctx, id, func(a lifecycle.Allocation) lifecycle.Allocation {
		listens = a.Listens
		return a.Preempt(reason, now, deadline)
	})
	return listens, err
}

// Waits implements rm.Tasks.
func (t *Tasks) Waits(ctx context.Context, id rm.AllocationID, w rm.Wait) error {
	_, err := t.alter(ctx, id, func(a lifecycle.Allocation) lifecycle.Allocation { return a.Wait(w) })
	return err
}

// alter changes one allocation. One that is not known is nobody's any more: nil.
func (t *Tasks) alter(ctx context.Context, id rm.AllocationID, change func(lifecycle.Allocation) lifecycle.Allocation) (*entry, error) {
	e, _, found := t.reg.findAllocation(id)
	if !found {
		return nil, nil //nolint:nilnil // see above
	}
	return e, t.apply(ctx, e, func(s snapshot) (snapshot, error) {
		a, found := s.allocation(id)
		if !found {
			return s, nil
		}
		return s.with(change(a)), nil
	})
}

// Ended implements rm.Tasks. The allocation's tokens go first: should we be
// interrupted behind that, the resource manager says it again.
func (t *Tasks) Ended(ctx context.Context, id rm.AllocationID, end rm.End) error {
	e, _, found := t.reg.findAllocation(id)
	if !found {
		return nil
	}
	if end.At.IsZero() {
		end.At = t.cfg.Now()
	}
	if err := t.cfg.Tokens.EndAllocation(ctx, string(id)); err != nil {
		return fmt.Errorf("end allocation %s: %w", id, err)
	}
	if err := t.apply(ctx, e, func(s snapshot) (snapshot, error) {
		s, err := finish(s, id, end)
		return forgetRefusals(s, e.said), err
	}); err != nil {
		return fmt.Errorf("end allocation %s: %w", id, err)
	}
	t.data.forget(id)
	s, r := e.now(), t.reg.manager()
	if s.over() || r == nil {
		return nil
	}
	return t.hand(ctx, r, e)
}

// finish ends an allocation, and the task with it unless it is run again.
func finish(s snapshot, id rm.AllocationID, end rm.End) (snapshot, error) {
	a, found := s.allocation(id)
	if !found || a.Over() {
		return s, nil
	}
	done, err := a.Finish(end, s.task.Preemptible)
	if err != nil {
		return s, err
	}
	s = s.with(done)
	if done.End.Again {
		return s.with(done.Next(s.task, end.At)), nil
	}
	s.task.Ended = end.At
	s.task.Config, err = spec.Forget(s.task.Config)
	return s, err
}
