package task

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/master/task/lifecycle"
)

// collections are the documents that this package owns.
type collections struct {
	// tasks are found by id; their time is that of their end, and unset until then. Those of an array
	// have it as parent.
	tasks store.Collection[lifecycle.Task]
	// allocations have their task as parent.
	allocations store.Collection[lifecycle.Allocation]
	// parts are the packed files of a task, which is their parent, in pieces; contexts are the unsplit
	// ones of tasks of earlier versions.
	parts    store.Collection[[]byte]
	contexts store.Collection[[]byte]
	// past are tasks that are no longer listed and whose logs may still be read.
	past store.Collection[lifecycle.Task]
	// carried records that the tasks of earlier versions are listed.
	carried store.Collection[carriedOver]
}

func toDocs() collections {
	return collections{
		tasks:       store.Collection[lifecycle.Task]{Kind: "task"},
		allocations: store.Collection[lifecycle.Allocation]{Kind: "allocation"},
		parts:       store.Collection[[]byte]{Kind: "task_context_part"},
		contexts:    store.Collection[[]byte]{Kind: "task_context"},
		past:        store.Collection[lifecycle.Task]{Kind: "past_task"},
		carried:     store.Collection[carriedOver]{Kind: "task_rows"},
	}
}

// records keeps tasks in the store consistent with memory.
type records struct{ *shared }

// loadAll fills the registry with the tasks that have not ended or whose log may lack lines.
func (rec *records) loadAll(ctx context.Context) error {
	if err := rec.carryOver(ctx); err != nil {
		return err
	}
	docs := toDocs()
	var tasks []*snapshot
	err := docs.tasks.EachUndated(ctx, rec.cfg.Store, func(string) *lifecycle.Task {
		s := &snapshot{}
		tasks = append(tasks, s)
		return &s.task
	})
	if err != nil {
		return err
	}
	found := make(map[string]*snapshot, len(tasks))
	for _, s := range tasks {
		found[string(s.task.ID)] = s
	}
	err = docs.allocations.EachOfUndated(ctx, rec.cfg.Store, docs.tasks.Kind, len(tasks), func(task string) *lifecycle.Allocation {
		s := found[task]
		if s == nil {
			return nil // of one that has ended
		}
		s.allocations = append(s.allocations, lifecycle.Allocation{})
		return &s.allocations[len(s.allocations)-1]
	})
	if err != nil {
		return err
	}
	rec.reg.expect(len(tasks))
	for _, s := range tasks {
		s.allocations = byNumber(s.allocations)
		if err := rec.addLoaded(s); err != nil {
			return err
		}
	}
	return nil
}

// addLoaded adds a task to memory. The number of the master's lines in its log is read when the next one
// is copied.
func (rec *records) addLoaded(s *snapshot) error {
	k := kindOf(s.task.Kind)
	if k.noun == "" {
		return fmt.Errorf("task %s has the unknown kind %q; run the version that stored it", s.task.ID, s.task.Kind)
	}
	if len(s.allocations) == 0 {
		return fmt.Errorf("task %s has no allocation in the store; restore a backup", s.task.ID)
	}
	e := newEntry(rec.reg.usage)
	e.publish(s)
	rec.reg.putTask(s.task.ID, e)
	if isOpen(s) {
		rec.reg.follow(s.task, e)
	}
	rec.reg.serve(s.task, e)
	if k.owned {
		rec.reg.joinJob(s.task, e)
	}
	return nil
}

// allocationsOf returns the allocations of tasks, in no particular order.
func allocationsOf(ctx context.Context, r store.Reader, tasks []store.Doc[lifecycle.Task]) (map[rm.TaskID][]lifecycle.Allocation, error) {
	ids := make([]string, 0, len(tasks))
	for _, d := range tasks {
		ids = append(ids, d.ID)
	}
	all, err := toDocs().allocations.ByParents(ctx, r, ids)
	of := make(map[rm.TaskID][]lifecycle.Allocation, len(tasks))
	for _, d := range all {
		of[d.Value.Task] = append(of[d.Value.Task], d.Value)
	}
	return of, err
}

func byNumber(list []lifecycle.Allocation) []lifecycle.Allocation {
	slices.SortFunc(list, func(a, b lifecycle.Allocation) int { return a.Number - b.Number })
	return list
}

// edit changes a snapshot; on error nothing is changed.
type edit func(snapshot) (snapshot, error)

// applyChange stores a change and the master's lines about it, and publishes it. It may be repeated:
// stored parts are not written again. Ended tasks are not changed.
func (rec *records) applyChange(ctx context.Context, e *entry, change edit) error {
	return rec.applyChangeWith(ctx, e, change, nil)
}

// applyChangeWith is applyChange in one transaction with also, which may be nil and is written even if
// nothing changes.
func (rec *records) applyChangeWith(ctx context.Context, e *entry, change edit, also func(*store.Tx) error) error {
	e.change.Lock()
	defer e.change.Unlock()
	if err := rec.reloadTask(ctx, e); err != nil {
		return err
	}
	before := e.cur.Load()
	changed, err := change(*before)
	if err != nil {
		return err
	}
	after := &changed
	if before.hasEnded() {
		after = before
	}
	if err := rec.saveChange(ctx, e, before, after, also); err != nil {
		e.stale = errors.Is(err, store.ErrOutcomeUnknown)
		return err
	}
	if !before.hasEnded() {
		e.publish(after)
	}
	return rec.copyLines(ctx, e)
}

// reloadTask reads a task again if the outcome of its last write is unknown.
func (rec *records) reloadTask(ctx context.Context, e *entry) error {
	if !e.stale {
		return nil
	}
	id := e.latestSnapshot().task.ID
	d, found, err := toDocs().tasks.Get(ctx, rec.cfg.Store, string(id))
	if err != nil || !found {
		return errors.Join(err, fmt.Errorf("read task %s again", id))
	}
	list, err := toDocs().allocations.ByParent(ctx, rec.cfg.Store, string(id))
	if err != nil {
		return err
	}
	s := snapshot{task: d.Value}
	for _, a := range list {
		s.allocations = append(s.allocations, a.Value)
	}
	s.allocations = byNumber(s.allocations)
	e.publishSnapshot(s)
	e.stale = false
	return nil
}

// putTask stores a new task, and lists it.
func putTask(tx *store.Tx, task lifecycle.Task) error {
	return errors.Join(toDocs().tasks.Put(tx, string(task.ID), "", time.Time{}, task), listTask(tx, task))
}

func putAllocation(tx *store.Tx, a lifecycle.Allocation) error {
	return toDocs().allocations.Put(tx, string(a.ID), string(a.Task), a.Created, a)
}
