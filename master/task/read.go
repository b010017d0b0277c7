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
	"github.com/det-deploy/det-deploy/master/task/spec"
)

// Task returns a task of any kind, even if it is no longer listed. Its error has the code NotFound.
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
		out.Resources = showResources(s.currentAllocation())
		if s.task.HasContext {
			held, err := v.cfg.Contexts.HeldBy(ctx, holderOf(id))
			if err != nil {
				return nil, err
			}
			if held != "" {
				out.ContextId = &held
			}
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

// Owner returns the user who started a task, listed or not. Its error has the code NotFound.
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

// Done returns a channel that is closed when the task has ended and its last line can be read. Its error
// has the code NotFound.
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

// Log reads a task's log. With follow it reads until the task has ended and its last line was read;
// follow cannot be combined with a limit or with descending order. An error before the first line has
// the code NotFound.
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

// collector removes tasks that need no longer be listed.
type collector struct {
	*shared

	records  *records
	contexts *contexts
	runs     *runs
	listed   *views
}

// Collect removes tasks that ended long before now from the lists, with their files; their logs are
// kept. If keepLogs is not zero, it also deletes tasks with their logs after that time. It returns the
// number of tasks removed from the lists.
func (c *collector) Collect(ctx context.Context, now time.Time, keepLogs time.Duration) (int, error) {
	if err := errors.Join(c.runs.settleAll(ctx), c.records.leaveAll(ctx), c.records.carryEnds(ctx)); err != nil {
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

// together is the number of tasks that are removed from the lists, or deleted, in one transaction: few
// enough that other writers hardly wait.
const together = 100

// unlistBeyond removes the earliest ended tasks from the lists if more than MostListed are listed.
func (c *collector) unlistBeyond(ctx context.Context) (int, error) {
	listed, err := c.listed.CountCommands(ctx)
	if err != nil {
		return 0, err
	}
	open := len(c.reg.listWhere(func(s *snapshot) bool { return !kindOf(s.task.Kind).owned && !s.hasEnded() }))
	return c.unlistBefore(ctx, math.MaxInt64, listed-open-c.cfg.MostListed)
}

// unlistBefore removes up to most tasks that ended before the given time, in microseconds, from the
// lists. It returns their number.
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

// unlistTasks keeps only the records of tasks that their logs need.
func (c *collector) unlistTasks(ctx context.Context, tx *store.Tx, ids []string) error {
	docs := toDocs()
	list, err := readEnded(ctx, tx, ids)
	if err != nil {
		return err
	}
	for _, s := range list {
		task := withLast(s)
		if task.Config, err = spec.Forget(task.Config); err != nil {
			return err
		}
		if _, err := docs.tasks.Replace(tx, string(task.ID), task); err != nil {
			return err
		}
	}
	for _, id := range ids {
		_, gone := docs.allocations.DeleteByParent(tx, id)
		err := errors.Join(gone, c.contexts.dropStored(ctx, tx, id), docs.contexts.Delete(tx, id), docs.past.Delete(tx, id), docs.tasks.MoveTo(tx, id, docs.past), store.DeleteTaskRow(tx, id))
		if err != nil {
			return err
		}
	}
	return nil
}

// forgetBefore deletes unlisted tasks that ended before the given time, with their logs.
func (c *collector) forgetBefore(ctx context.Context, before time.Time) error {
	old, err := toDocs().past.Before(ctx, c.cfg.Store, before)
	if err != nil {
		return err
	}
	for _, d := range old {
		if d.Value.Kind == lifecycle.Trial { // their experiments decide how long
			continue
		}
		if err := c.cfg.Logs.Delete(ctx, d.ID); err != nil {
			return err
		}
		err := c.cfg.Store.Write(ctx, func(tx *store.Tx) error {
			return errors.Join(toDocs().past.Delete(tx, d.ID), store.DeleteTaskEnd(tx, endOf(&snapshot{task: d.Value})))
		})
		if err != nil {
			return err
		}
	}
	return nil
}
