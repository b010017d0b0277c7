package task

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/det-deploy/det-deploy/internal/excerpt"
	"github.com/det-deploy/det-deploy/master/api/status"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/task/lifecycle"
)

// mostDependencies is the maximum number of tasks that a task may wait for.
const mostDependencies = 100

// dependenciesOf returns the tasks after which a submitted one starts. Its errors have the codes
// InvalidArgument and NotFound.
func (l *launches) dependenciesOf(ctx context.Context, d draft) ([]lifecycle.Dependency, error) {
	asked := d.req.GetAfter()
	if len(asked) > mostDependencies {
		return nil, status.New(status.InvalidArgument, "after: at most %d tasks (is %d)", mostDependencies, len(asked))
	}
	var out []lifecycle.Dependency
	for _, a := range asked {
		id := rm.TaskID(a.GetTaskId())
		if id == d.id {
			return nil, status.New(status.InvalidArgument, "after: a task cannot start after itself")
		}
		if _, err := l.views.findCommand(ctx, string(id)); err != nil {
			if status.Of(err) == status.NotFound {
				return nil, status.New(status.NotFound, "after: command '%s' not found", excerpt.Of(string(id)))
			}
			return nil, err
		}
		if !slices.ContainsFunc(out, func(o lifecycle.Dependency) bool { return o.Task == id && o.Succeeded == a.GetSucceeded() }) {
			out = append(out, lifecycle.Dependency{Task: id, Succeeded: a.GetSucceeded()})
		}
	}
	return out, nil
}

// settleAfter looks at the tasks that a queued one waits for, and reports whether it may be submitted. The
// task ends if one of them was to succeed and did not. It depends on the current state only, so that it may
// be called at any time.
func (run *runs) settleAfter(ctx context.Context, e *entry) (ready bool, err error) {
	s := e.latestSnapshot()
	if len(s.task.After) == 0 {
		return true, nil
	}
	outcomes := map[rm.TaskID]lifecycle.Outcome{}
	for _, d := range s.task.After {
		if outcomes[d.Task], err = run.outcomeOf(ctx, d.Task); err != nil {
			return false, err
		}
	}
	left, missed := lifecycle.JudgeAfter(s.task.After, func(id rm.TaskID) lifecycle.Outcome { return outcomes[id] })
	if missed != "" {
		return false, run.Ended(ctx, s.currentAllocation().ID, rm.End{Cause: rm.CauseRefused, Reason: missed, At: run.cfg.Now()})
	}
	if len(left) < len(s.task.After) {
		err = run.records.applyChange(ctx, e, func(s snapshot) (snapshot, error) {
			s.task.After = left
			return s, nil
		})
	}
	return len(left) == 0, err
}

func (run *runs) outcomeOf(ctx context.Context, id rm.TaskID) (lifecycle.Outcome, error) {
	e, found, err := run.findTask(ctx, id)
	if err != nil {
		return "", err
	}
	if !found {
		return lifecycle.Unknown, nil
	}
	s := e.latestSnapshot()
	return s.task.OutcomeOf(s.currentAllocation()), nil
}

// startFollowers submits the tasks that wait for an ended one. Errors are only logged: settleAll repeats it.
func (run *runs) startFollowers(ctx context.Context, id rm.TaskID) {
	r := run.reg.managerOf()
	if r == nil {
		return // Attach submits them
	}
	var g errgroup.Group
	g.SetLimit(arrayWriters)
	for _, e := range run.reg.followersOf(id) {
		g.Go(func() error {
			s := e.latestSnapshot()
			if !s.isOpen() || len(s.task.After) == 0 {
				return nil
			}
			return run.submitCurrent(ctx, r, e)
		})
	}
	if err := g.Wait(); err != nil {
		run.cfg.Log.Warn("cannot start the tasks that wait for an ended one; retrying", "task_id", id, "err", err)
		return
	}
	run.reg.dropFollowers(id)
}

// startAllFollowers repeats startFollowers for tasks whose followers could not be started.
func (run *runs) startAllFollowers(ctx context.Context) error {
	for _, id := range run.reg.followed() {
		o, err := run.outcomeOf(ctx, id)
		if err != nil {
			return err
		}
		if o != lifecycle.Open {
			run.startFollowers(ctx, id)
		}
	}
	return nil
}

// follow notes that a task waits for others.
func (r *registry) follow(t lifecycle.Task, e *entry) {
	if len(t.After) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, d := range t.After {
		r.followers[d.Task] = append(r.followers[d.Task], e)
	}
}

// followersOf returns the tasks that wait for a task. Some of them may have ended.
func (r *registry) followersOf(id rm.TaskID) []*entry {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.Clone(r.followers[id])
}

func (r *registry) dropFollowers(id rm.TaskID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.followers, id)
}

// followed returns the tasks for which others wait.
func (r *registry) followed() []rm.TaskID {
	r.mu.RLock()
	defer r.mu.RUnlock()
	ids := make([]rm.TaskID, 0, len(r.followers))
	for id := range r.followers {
		ids = append(ids, id)
	}
	return ids
}

// checkQueued returns an error with the code FailedPrecondition for a task that is not in a queue yet.
func checkQueued(t lifecycle.Task) error {
	switch {
	case t.Paused:
		return status.New(status.FailedPrecondition, "task %s is paused and in no queue; resume it first", t.ID)
	case len(t.After) == 0:
		return nil
	}
	return status.New(status.FailedPrecondition, "task %s is not queued yet: it %s", t.ID, lifecycle.AfterNote(t.After))
}
