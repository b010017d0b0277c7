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
	// tasks are found by id; their time is when they ended, and none until then.
	tasks store.Collection[lifecycle.Task]
	// allocations have their task as parent.
	allocations store.Collection[lifecycle.Allocation]
	// parts are the files that came with a task, which is their parent, packed and cut
	// into pieces; contexts are those of tasks of earlier versions, whole.
	parts    store.Collection[[]byte]
	contexts store.Collection[[]byte]
	// past are tasks that are no longer listed and whose logs may still be read.
	past store.Collection[lifecycle.Task]
	// carried says that the tasks of earlier versions are listed.
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

// records are the tasks in the store, with which memory agrees.
type records struct{ *shared }

// loadAll fills the registry with what has not ended, or may lack lines in its log.
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

// addLoaded puts a task into memory. How many of the master's lines are in its log is asked when the next is
// copied.
func (rec *records) addLoaded(s *snapshot) error {
	k := kindOf(s.task.Kind)
	if k.noun == "" {
		return fmt.Errorf("task %s is of kind %q, which this version does not know; run the version that stored it", s.task.ID, s.task.Kind)
	}
	if len(s.allocations) == 0 {
		return fmt.Errorf("task %s has no allocation in the store; restore a backup", s.task.ID)
	}
	e := newEntry(rec.reg.usage)
	e.publish(s)
	rec.reg.putTask(s.task.ID, e)
	if k.owned {
		rec.reg.joinJob(s.task, e)
	}
	return nil
}

// allocationsOf reads the allocations of tasks, in no order.
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

// edit changes a snapshot; an error leaves everything as it was.
type edit func(snapshot) (snapshot, error)

// applyChange makes a change and the master's lines about it durable, and shows it. It may be repeated:
// what is there already is not written again. What has ended stays as it is.
func (rec *records) applyChange(ctx context.Context, e *entry, change edit) error {
	return rec.applyChangeWith(ctx, e, change, nil)
}

// applyChangeWith is applyChange in one transaction with something else, nil for nothing, that is written
// also where nothing changes.
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

// reloadTask reads a task again whose last write may or may not have been done.
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
