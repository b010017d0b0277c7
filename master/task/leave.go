package task

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/master/task/lifecycle"
)

// leaving is the tasks that have ended and whose last lines are in their logs. They leave memory
// with the end of another task: who waits for an end asks for the task once more. A restarted master
// reads those again whose end has no time in the store yet, which is what interrupted earlier versions
// leave behind.
type leaving struct {
	mu   sync.Mutex // guards list
	list []*entry
}

// leaveTogether is how many leave at once, at most: more than end meanwhile.
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

// leaveMemory drops tasks for which putLeaving was stored; after an error they stay.
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

// leaveAll lets all leave that can.
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

// findTask finds a task in memory or, of those that have ended and are listed, in the store.
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

// endedEntry is a task that is not in memory. Nothing changes it.
func endedEntry(s snapshot) *entry {
	e := newEntry(newUsage())
	e.gone = true
	e.publishSnapshot(s)
	close(e.ended)
	return e
}

// readEnded reads those tasks that have ended and are listed, in no order.
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
		if list := of[d.Value.ID]; len(list) > 0 { // none of one that is taken out of the lists meanwhile
			out = append(out, snapshot{task: d.Value, allocations: byNumber(list)})
		}
	}
	return out, nil
}
