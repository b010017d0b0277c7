package task

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/quota"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/master/task/lifecycle"
)

// leaving holds the tasks that have ended and whose last lines are in their logs. They are removed from
// memory when another task ends, because a client that waits for an end reads the task once more. A
// restarted master loads tasks whose end has no time in the store yet, which interrupted earlier
// versions leave behind.
type leaving struct {
	mu   sync.Mutex // guards list
	list []*entry
}

// leaveTogether is the maximum number of tasks that leave at once: more than end in the meantime.
const leaveTogether = 64

func (l *leaving) add(list ...*entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, list...)
}

func (l *leaving) take(most int) []*entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := min(most, len(l.list))
	out := slices.Clone(l.list[:n])
	l.list = slices.Delete(l.list, 0, n)
	return out
}

// putLeaving stores that tasks need not be in memory.
func putLeaving(tx *store.Tx, list []*entry) error {
	for _, e := range list {
		if e.dated {
			continue
		}
		t := e.latestSnapshot().task
		err := errors.Join(toDocs().tasks.SetTime(tx, string(t.ID), t.Ended), store.EndTaskRow(tx, string(t.ID), t.Ended.UnixMicro()))
		if err != nil {
			return err
		}
	}
	return nil
}

// leaveMemory removes tasks for which putLeaving was stored. After an error they stay in memory.
func (rec *records) leaveMemory(list []*entry, err error) {
	if err != nil {
		rec.reg.leaving.add(list...)
		return
	}
	for _, e := range list {
		e.change.Lock()
		e.gone = true
		e.change.Unlock()
		rec.reg.dropTask(e.latestSnapshot().task.ID)
	}
}

// leaveAll removes all tasks that may leave.
func (rec *records) leaveAll(ctx context.Context) error {
	for {
		list := rec.reg.leaving.take(leaveTogether)
		if len(list) == 0 {
			return nil
		}
		var err error
		if slices.ContainsFunc(list, func(e *entry) bool { return !e.dated }) {
			err = rec.cfg.Store.Write(ctx, func(tx *store.Tx) error { return putLeaving(tx, list) })
		}
		rec.leaveMemory(list, err)
		if err != nil {
			return err
		}
	}
}

// findTask returns a task from memory or, for an ended and listed one, from the store.
func (s *shared) findTask(ctx context.Context, id rm.TaskID) (*entry, bool, error) {
	if e, found := s.reg.findTask(id); found {
		return e, true, nil
	}
	list, err := readEnded(ctx, s.cfg.Store, []string{string(id)})
	if err != nil || len(list) == 0 {
		return nil, false, err
	}
	return endedEntry(list[0]), true, nil
}

// findAllocation is findTask by an allocation's id.
func (s *shared) findAllocation(ctx context.Context, id rm.AllocationID) (*entry, lifecycle.Allocation, bool, error) {
	e, found, err := s.findTask(ctx, taskOf(id))
	if err != nil || !found {
		return nil, lifecycle.Allocation{}, false, err
	}
	a, found := e.latestSnapshot().allocationByID(id)
	return e, a, found, nil
}

// endedEntry returns an immutable entry for a task that is not in memory.
func endedEntry(s snapshot) *entry {
	e := newEntry(newUsage())
	e.gone = true
	e.publishSnapshot(s)
	close(e.ended)
	return e
}

// readEnded reads the ended and listed ones of the given tasks, in no particular order.
func readEnded(ctx context.Context, r store.Reader, ids []string) ([]snapshot, error) {
	tasks, err := toDocs().tasks.ByIDs(ctx, r, ids)
	if err != nil {
		return nil, err
	}
	tasks = slices.DeleteFunc(tasks, func(d store.Doc[lifecycle.Task]) bool { return d.Value.Ended.IsZero() })
	of, err := allocationsOf(ctx, r, tasks)
	if err != nil {
		return nil, err
	}
	var out []snapshot
	for _, d := range tasks {
		if list := of[d.Value.ID]; len(list) > 0 { // empty if the task is being removed from the lists
			out = append(out, snapshot{task: d.Value, allocations: byNumber(list)})
		}
	}
	return out, nil
}

// ownerOf returns the user for whom stored bytes are counted.
func ownerOf(u *apiv1.User) quota.User { return quota.User{ID: u.GetId(), Name: u.GetUsername()} }

// countStored counts the bytes stored by earlier versions.
func (rec *records) countStored(ctx context.Context) error {
	return errors.Join(rec.cfg.Quota.Count(ctx, quota.Contexts, "tasks", rec.sumContexts), rec.cfg.Quota.Count(ctx, quota.Logs, "tasks", rec.sumLogs))
}

// sumContexts returns the bytes of the files of each user's listed tasks.
func (rec *records) sumContexts(ctx context.Context) (map[int32]int64, error) {
	of := map[int32]int64{}
	err := rec.readAll(ctx, toDocs().tasks, func(t lifecycle.Task) { of[t.UserID] += t.ContextBytes })
	return of, err
}

// sumLogs returns the bytes of the logs of each user's tasks, listed or not.
func (rec *records) sumLogs(ctx context.Context) (map[int32]int64, error) {
	sizes, err := store.LogBytesByTask(ctx, rec.cfg.Store)
	of := map[int32]int64{}
	for _, tasks := range []store.Collection[lifecycle.Task]{toDocs().tasks, toDocs().past} {
		if err == nil {
			err = rec.readAll(ctx, tasks, func(t lifecycle.Task) { of[t.UserID] += sizes[string(t.ID)] })
		}
	}
	return of, err
}

// readAll calls read with all tasks of a collection, and reads a page at a time.
func (rec *records) readAll(ctx context.Context, tasks store.Collection[lifecycle.Task], read func(lifecycle.Task)) error {
	for after, more := "", true; more; {
		list, err := tasks.Behind(ctx, rec.cfg.Store, after, time.Time{}, carriedTogether)
		if err != nil {
			return err
		}
		for _, d := range list {
			read(d.Value)
			after = d.ID
		}
		more = len(list) == carriedTogether
	}
	return nil
}

// OwnerOfLog implements log.UserOf for tasks of the cluster.
func (v *views) OwnerOfLog(ctx context.Context, id string) (quota.User, error) {
	e, found, err := v.findTask(ctx, rm.TaskID(id))
	if err != nil {
		return quota.User{}, err
	}
	if found {
		t := &e.cur.Load().task
		return quota.User{ID: t.UserID, Name: t.Username}, nil
	}
	d, _, err := toDocs().past.Get(ctx, v.cfg.Store, id)
	return quota.User{ID: d.Value.UserID, Name: d.Value.Username}, err
}
