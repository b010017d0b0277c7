package task

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/task/lifecycle"
)

// PauseGeneric asks a generic task and its descendants to checkpoint and stop, and keeps them until
// UnpauseGeneric. Descendants that cannot be paused run on. It may be repeated. The errors have the codes
// NotFound, PermissionDenied, and FailedPrecondition for a task that has ended or cannot be paused.
func (o *owners) PauseGeneric(ctx context.Context, by *apiv1.User, id string) error {
	e, err := o.findOpenGeneric(ctx, by, id, "pause")
	if err != nil {
		return err
	}
	if e.latestSnapshot().task.NoPause {
		return status.New(status.FailedPrecondition, "task %s was created as one that cannot be paused; kill it instead", id)
	}
	return o.changeTree(ctx, rm.TaskID(id), func(s snapshot, now time.Time) (snapshot, bool, error) {
		if s.task.NoPause {
			return s, false, nil
		}
		task, last := s.task.Pause(s.currentAllocation(), by.GetUsername(), now)
		s.task = task
		return s.withAllocation(last), false, nil
	})
}

// UnpauseGeneric queues a paused generic task and its descendants again. It may be repeated. The errors have
// the codes NotFound, PermissionDenied, and FailedPrecondition for a task that has ended.
func (o *owners) UnpauseGeneric(ctx context.Context, by *apiv1.User, id string) error {
	if _, err := o.findOpenGeneric(ctx, by, id, "resume"); err != nil {
		return err
	}
	return o.changeTree(ctx, rm.TaskID(id), func(s snapshot, now time.Time) (snapshot, bool, error) {
		task, next, queued := s.task.Resume(s.currentAllocation(), now)
		s.task = task
		return s.withAllocation(next), queued, nil
	})
}

// KillGeneric ends a generic task and its descendants, or with fromRoot its first ancestor and all descendants
// of that. Tasks that have ended stay unchanged. The errors have the codes NotFound and PermissionDenied.
func (o *owners) KillGeneric(ctx context.Context, by *apiv1.User, id string, fromRoot bool) error {
	e, err := o.views.findKind(ctx, lifecycle.Generic, id)
	if err != nil {
		return err
	}
	task := e.latestSnapshot().task
	if err := checkAllowed(by, task, "kill"); err != nil {
		return err
	}
	top := task.ID
	if fromRoot && len(task.Ancestors) > 0 {
		top = task.Ancestors[0]
		if e, found := o.reg.findTask(top); found {
			if err := checkAllowed(by, e.latestSnapshot().task, "kill"); err != nil {
				return err
			}
		}
	}
	return o.changeTree(ctx, top, killEdit(by))
}

// killEdit ends a task on behalf of a user.
func killEdit(by *apiv1.User) treeEdit {
	return func(s snapshot, now time.Time) (snapshot, bool, error) {
		if !s.rests() {
			return s.withAllocation(s.currentAllocation().KillBy(by.GetUsername(), now)), false, nil
		}
		task, last := s.task.KillPaused(s.currentAllocation(), by.GetUsername(), now)
		s.task = task
		s, err := forgetSecrets(s.withAllocation(last))
		return s, false, err
	}
}

// findOpenGeneric returns a generic task that has not ended and that the user may change.
func (o *owners) findOpenGeneric(ctx context.Context, by *apiv1.User, id, verb string) (*entry, error) {
	if e, found := o.reg.findTask(rm.TaskID(id)); found && e.latestSnapshot().task.Kind != lifecycle.Generic {
		k := kindOf(e.latestSnapshot().task.Kind)
		return nil, status.New(status.NotFound, "generic task '%s' not found: the ID is that of a %s, which cannot be paused", id, k.noun)
	}
	e, err := o.views.findKind(ctx, lifecycle.Generic, id)
	if err != nil {
		return nil, err
	}
	if err := checkAllowed(by, e.latestSnapshot().task, verb); err != nil {
		return nil, err
	}
	switch s := e.latestSnapshot(); {
	case s.hasEnded():
		return nil, status.New(status.FailedPrecondition, "task %s has ended", id)
	case s.currentAllocation().Killed != nil:
		return nil, status.New(status.FailedPrecondition, "task %s is being killed", id)
	}
	return e, nil
}

// treeEdit changes a task at a time, and reports whether it has a new allocation to submit.
type treeEdit func(s snapshot, now time.Time) (_ snapshot, queued bool, err error)

// changeTree changes a task and its descendants, parents first, and carries the changes out. Children that
// were created meanwhile are found afterwards, and none is created for a task that was paused or killed.
func (o *owners) changeTree(ctx context.Context, top rm.TaskID, change treeEdit) error {
	done := map[rm.TaskID]bool{}
	for {
		list := o.reg.listWhere(func(s *snapshot) bool {
			return !done[s.task.ID] && s.task.Kind == lifecycle.Generic && !s.hasEnded() &&
				(s.task.ID == top || slices.Contains(s.task.Ancestors, top))
		})
		if len(list) == 0 {
			return nil
		}
		slices.SortStableFunc(list, func(a, b *entry) int {
			return cmp.Compare(len(a.cur.Load().task.Ancestors), len(b.cur.Load().task.Ancestors))
		})
		for _, e := range list {
			if err := o.changeMember(ctx, e, change); err != nil {
				return err
			}
			done[e.cur.Load().task.ID] = true
		}
	}
}

func (o *owners) changeMember(ctx context.Context, e *entry, change treeEdit) error {
	now, queued := o.cfg.Now().UTC(), false
	err := o.records.applyChange(ctx, e, func(s snapshot) (_ snapshot, err error) {
		s, queued, err = change(s, now)
		return s, err
	})
	if err != nil {
		return err
	}
	r := o.reg.managerOf()
	if !queued || r == nil { // Attach submits it
		return o.runs.killDoomed(ctx, r, e)
	}
	return o.runs.submitCurrent(ctx, r, e)
}
