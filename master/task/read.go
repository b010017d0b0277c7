package task

import (
	"context"
	"errors"
	"iter"
	"math"
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
	e, found, err := v.findTask(ctx, rm.TaskID(id))
	if err != nil {
		return nil, err
	}
	if found {
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
	e, found, err := v.findTask(ctx, rm.TaskID(id))
	if err != nil {
		return 0, err
	}
	if found {
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
func (v *views) Done(ctx context.Context, id string) (<-chan struct{}, error) {
	e, found, err := v.findTask(ctx, rm.TaskID(id))
	if err == nil && !found {
		err = status.Missing("task", id)
	}
	if err != nil {
		return nil, err
	}
	return e.ended, nil
}

// Log reads a task's log; with follow it reads until the task has ended and its
// last line was read, which a limit or an order from its end exclude. The error before
// the first line has the code NotFound.
func (v *views) Log(ctx context.Context, f log.Filter, follow bool) (iter.Seq2[log.Entry, error], error) {
	e, found, err := v.findTask(ctx, rm.TaskID(f.Task))
	if err != nil {
		return nil, err
	}
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
	v.records.showLines(ctx, e)
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
	listed   *views
}

// Collect takes tasks that ended long before now out of the lists, with the files
// that came with them; their logs stay. Logs are removed with their task when
// keepLogs is not zero and has passed as well. It says how many tasks it moved.
func (c *collector) Collect(ctx context.Context, now time.Time, keepLogs time.Duration) (int, error) {
	if err := errors.Join(c.runs.settleAll(ctx), c.records.leaveAll(ctx)); err != nil {
		return 0, err
	}
	n, err := c.unlistBefore(ctx, now.Add(-c.cfg.Listed).UnixMicro()+1, math.MaxInt)
	if err == nil && c.cfg.MostListed > 0 {
		var more int
		more, err = c.unlistBeyond(ctx)
		n += more
	}
	if err != nil {
		return n, err
	}
	if err := c.contexts.dropStrayParts(ctx); err != nil || keepLogs <= 0 {
		return n, err
	}
	return n, c.forgetBefore(ctx, now.Add(-keepLogs))
}

// together is how many tasks are taken out of the lists, or forgotten, in one transaction: few
// enough that others who write hardly wait.
const together = 100

// unlistBeyond takes those out of the lists that ended first, where there are too many.
func (c *collector) unlistBeyond(ctx context.Context) (int, error) {
	listed, err := c.listed.CountCommands(ctx)
	if err != nil {
		return 0, err
	}
	open := len(c.reg.listWhere(func(s *snapshot) bool { return !kindOf(s.task.Kind).owned && !s.hasEnded() }))
	return c.unlistBefore(ctx, math.MaxInt64, listed-open-c.cfg.MostListed)
}

// unlistBefore takes at most so many tasks out of the lists that ended before, in microseconds.
func (c *collector) unlistBefore(ctx context.Context, before int64, most int) (n int, err error) {
	for n < most {
		ids, err := store.EndedTaskRows(ctx, c.cfg.Store, before, min(together, most-n))
		if err != nil || len(ids) == 0 {
			return n, err
		}
		if err := c.cfg.Store.Write(ctx, func(tx *store.Tx) error { return c.unlistTasks(ctx, tx, ids) }); err != nil {
			return n, err
		}
		n += len(ids)
	}
	return n, nil
}

// unlistTasks keeps of tasks only what their logs need.
func (c *collector) unlistTasks(ctx context.Context, tx *store.Tx, ids []string) error {
	docs := toDocs()
	for _, id := range ids {
		_, gone := docs.allocations.DeleteByParent(tx, id)
		err := errors.Join(gone, c.contexts.dropStored(ctx, tx, id), docs.contexts.Delete(tx, id), docs.past.Delete(tx, id), docs.tasks.MoveTo(tx, id, docs.past), store.DeleteTaskRow(tx, id))
		if err != nil {
			return err
		}
	}
	return nil
}

// forgetBefore removes tasks that ended before and are not listed, with their logs.
func (c *collector) forgetBefore(ctx context.Context, before time.Time) error {
	old, err := toDocs().past.Before(ctx, c.cfg.Store, before)
	if err != nil {
		return err
	}
	for _, d := range old {
		if d.Value.Kind == lifecycle.Trial { // their experiments say how long
			continue
		}
		if err := c.cfg.Logs.Delete(ctx, d.ID); err != nil {
			return err
		}
		if err := c.cfg.Store.Write(ctx, func(tx *store.Tx) error { return toDocs().past.Delete(tx, d.ID) }); err != nil {
			return err
		}
	}
	return nil
}
