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
)

// Task describes a task of any kind, also one that is no longer listed. The error
// has the code NotFound.
func (t *Tasks) Task(ctx context.Context, id string) (*apiv1.GetTaskResponse, error) {
	if e, found := t.reg.find(rm.TaskID(id)); found {
		s := e.now()
		out := &apiv1.GetTaskResponse{Task: t.showTask(s)}
		if why := t.waiting(s); why != "" {
			out.Reason = &why
		}
		return out, nil
	}
	d, found, err := docs().past.Get(ctx, t.cfg.Store, id)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, status.Missing("task", id)
	}
	return &apiv1.GetTaskResponse{Task: t.showTask(snapshot{task: d.Value})}, nil
}

// Owner is the user who started a task, listed or not. The error has the code
// NotFound.
func (t *Tasks) Owner(ctx context.Context, id string) (userID int32, err error) {
	if e, found := t.reg.find(rm.TaskID(id)); found {
		return e.now().task.UserID, nil
	}
	d, found, err := docs().past.Get(ctx, t.cfg.Store, id)
	if err == nil && !found {
		err = status.Missing("task", id)
	}
	return d.Value.UserID, err
}

// Done returns what is closed when the task has ended and its last line can be read.
// The error has the code NotFound.
func (t *Tasks) Done(id string) (<-chan struct{}, error) {
	e, found := t.reg.find(rm.TaskID(id))
	if !found {
		return nil, status.Missing("task", id)
	}
	return e.ended, nil
}

// Log reads a task's log; with follow it goes on until the task has ended and its
// last line was read. The errors before the first line have the codes NotFound and
// InvalidArgument.
func (t *Tasks) Log(ctx context.Context, f log.Filter, follow bool) (iter.Seq2[log.Entry, error], error) {
	if follow && (f.Limit != 0 || f.Order == log.Newest) {
		return nil, status.New(status.InvalidArgument, "a log can be followed, or read in part or from its end, but not both")
	}
	e, found := t.reg.find(rm.TaskID(f.Task))
	if !found {
		_, past, err := docs().past.Get(ctx, t.cfg.Store, f.Task)
		if err != nil {
			return nil, err
		}
		if !past {
			return nil, status.Missing("task", f.Task)
		}
		return t.cfg.Logs.Query(ctx, f), nil
	}
	if !follow {
		return t.cfg.Logs.Query(ctx, f), nil
	}
	return t.cfg.Logs.Follow(ctx, f, e.ended), nil
}

// Collect takes tasks that ended long before now out of the lists, with the files
// that came with them; their logs stay. Logs are removed with their task when
// keepLogs is not zero and has passed as well. It says how many tasks it moved.
func (t *Tasks) Collect(ctx context.Context, now time.Time, keepLogs time.Duration) (int, error) {
	n := 0
	for _, e := range t.reg.all() {
		if s := e.now(); !s.over() || now.Sub(s.task.Ended) < t.cfg.Listed {
			continue
		}
		if err := t.unlist(ctx, e); err != nil {
			return n, err
		}
		n++
	}
	if err := t.dropStrayParts(ctx); err != nil || keepLogs <= 0 {
		return n, err
	}
	old, err := docs().past.Before(ctx, t.cfg.Store, now.Add(-keepLogs))
	if err != nil {
		return n, err
	}
	for _, d := range old {
		if err := t.cfg.Logs.Delete(ctx, d.ID); err != nil {
			return n, err
		}
		if err := t.cfg.Store.Write(ctx, func(tx *store.Tx) error { return docs().past.Delete(tx, d.ID) }); err != nil {
			return n, err
		}
	}
	return n, nil
}

// unlist keeps of a task only what its log needs.
func (t *Tasks) unlist(ctx context.Context, e *entry) error {
	e.change.Lock()
	defer e.change.Unlock()
	if err := t.speak(ctx, e); err != nil {
		return err
	}
	task := e.now().task
	err := t.cfg.Store.Write(ctx, func(tx *store.Tx) error {
		_, gone := docs().allocations.DeleteByParent(tx, string(task.ID))
		_, parts := docs().parts.DeleteByParent(tx, string(task.ID))
		return errors.Join(gone,
			docs().past.Put(tx, string(task.ID), "", task.Ended, task),
			docs().contexts.Delete(tx, string(task.ID)), parts,
			docs().tasks.Delete(tx, string(task.ID)))
	})
	if err != nil {
		return err
	}
	e.gone = true
	t.reg.drop(task.ID)
	return nil
}
