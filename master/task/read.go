package task

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/log"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/master/task/lifecycle"
)

// Task describes a task of any kind, also one that is no longer listed. The error
// has the code NotFound.
func (v *views) Task(ctx context.Context, id string) (*apiv1.GetTaskResponse, error) {
	if e, found := v.reg.findTask(rm.TaskID(id)); found {
		s := e.latestSnapshot()
		out := &apiv1.GetTaskResponse{Task: v.showTask(s)}
		if why := v.waitReason(s); why != "" {
			out.Reason = &why
		}
		return out, nil
	}
	d, found, err := toDocs().past.Get(ctx, v.cfg.Store, id)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, status.Missing("task", id)
	}
	return &apiv1.GetTaskResponse{Task: v.showTask(snapshot{task: d.Value})}, nil
}

// Owner is the user who started a task, listed or not. The error has the code
// NotFound.
func (v *views) Owner(ctx context.Context, id string) (userID int32, err error) {
	if e, found := v.reg.findTask(rm.TaskID(id)); found {
		return e.latestSnapshot().task.UserID, nil
	}
	d, found, err := toDocs().past.Get(ctx, v.cfg.Store, id)
	if err == nil && !found {
		err = status.Missing("task", id)
	}
	return d.Value.UserID, err
}

// Done returns what is closed when the task has ended and its last line can be read.
// The error has the code NotFound.
func (v *views) Done(id string) (<-chan struct{}, error) {
	e, found := v.reg.findTask(rm.TaskID(id))
	if !found {
		return nil, status.Missing("task", id)
	}
	return e.ended, nil
}

// Log reads a task's log; with follow it reads until the task has ended and its
// last line was read, which a limit or an order from its end exclude. The error before
// the first line has the code NotFound.
func (v *views) Log(ctx context.Context, f log.Filter, follow bool) (iter.Seq2[log.Entry, error], error) {
	e, found := v.reg.findTask(rm.TaskID(f.Task))
	if !found {
		_, past, err := toDocs().past.Get(ctx, v.cfg.Store, f.Task)
		if err != nil {
			return nil, err
		}
		if !past {
			return nil, status.Missing("task", f.Task)
		}
		return v.cfg.Logs.Query(ctx, f), nil
	}
	if !follow {
		return v.cfg.Logs.Query(ctx, f), nil
	}
	return v.cfg.Logs.Follow(ctx, f, e.ended), nil
}

// collector removes what is no longer listed.
type collector struct {
	*shared

	records  *records
	contexts *contexts
	runs     *runs
}

// Collect takes tasks that ended long before now out of the lists, with the files
// that came with them; their logs stay. Logs are removed with their task when
// keepLogs is not zero and has passed as well. It says how many tasks it moved.
func (c *collector) Collect(ctx context.Context, now time.Time, keepLogs time.Duration) (int, error) {
	if err := c.runs.settleAll(ctx); err != nil {
		return 0, err
	}
	n := 0
	for _, e := range c.reg.listTasks() {
		if s := e.latestSnapshot(); !s.hasEnded() || now.Sub(s.task.Ended) < c.cfg.Listed {
			continue
		}
		if err := c.archiveTask(ctx, e); err != nil {
			return n, err
		}
		n++
	}
	if err := c.contexts.dropStrayParts(ctx); err != nil || keepLogs <= 0 {
		return n, err
	}
	old, err := toDocs().past.Before(ctx, c.cfg.Store, now.Add(-keepLogs))
	if err != nil {
		return n, err
	}
	for _, d := range old {
		if d.Value.Kind == lifecycle.Trial { // their experiments say how long
			continue
		}
		if err := c.cfg.Logs.Delete(ctx, d.ID); err != nil {
			return n, err
		}
		if err := c.cfg.Store.Write(ctx, func(tx *store.Tx) error { return toDocs().past.Delete(tx, d.ID) }); err != nil {
			return n, err
		}
	}
	return n, nil
}

// archiveTask keeps of a task only what its log needs.
func (c *collector) archiveTask(ctx context.Context, e *entry) error {
	e.change.Lock()
	defer e.change.Unlock()
	if err := c.records.copyLines(ctx, e); err != nil {
		return err
	}
	task := e.latestSnapshot().task
	err := c.cfg.Store.Write(ctx, func(tx *store.Tx) error {
		_, gone := toDocs().allocations.DeleteByParent(tx, string(task.ID))
		_, parts := toDocs().parts.DeleteByParent(tx, string(task.ID))
		return errors.Join(gone,
			toDocs().past.Put(tx, string(task.ID), "", task.Ended, task),
			toDocs().contexts.Delete(tx, string(task.ID)), parts,
			toDocs().tasks.Delete(tx, string(task.ID)))
	})
	if err != nil {
		return err
	}
	e.gone = true
	c.reg.dropTask(task.ID)
	return nil
}
