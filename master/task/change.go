package task

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/master/task/lifecycle"
)

// saveChange writes the difference between two snapshots, the lines about it, and also, in one
// transaction. The caller holds e.change.
func (rec *records) saveChange(ctx context.Context, e *entry, before, after *snapshot, also func(*store.Tx) error) error {
	c := change{before: before, after: after, task: !reflect.DeepEqual(&before.task, &after.task), also: also}
	c.changed, c.gone = compareSnapshots(before, after)
	if !c.task && len(c.changed)+len(c.gone) == 0 && also == nil {
		return nil
	}
	lines, err := rec.joinLines(ctx, e, *after)
	if err != nil {
		return err
	}
	var leaving []*entry
	if c.isEnd() {
		leaving = rec.reg.leaving.take(leaveTogether)
	}
	err = rec.cfg.Store.Write(ctx, func(tx *store.Tx) error {
		return errors.Join(putLeaving(tx, leaving), c.write(tx), lines.write(tx))
	})
	lines.settle(err)
	rec.leaveMemory(leaving, err)
	if err == nil && c.isEnd() {
		e.dated = true
	}
	return err
}

// change is the difference between two snapshots of a task.
type change struct {
	before, after *snapshot
	task          bool // the task itself differs
	changed       []*lifecycle.Allocation
	gone          []rm.AllocationID
	also          func(*store.Tx) error // nil for nothing
}

// isEnd reports whether the task ends with the change.
func (c *change) isEnd() bool { return c.after.hasEnded() && !c.before.hasEnded() }

func (c *change) write(tx *store.Tx) error {
	if c.also != nil {
		if err := c.also(tx); err != nil {
			return err
		}
	}
	if c.task {
		if err := c.writeTask(tx); err != nil {
			return err
		}
	}
	for _, a := range c.changed {
		was := c.before.findAllocation(a.ID)
		if err := errors.Join(replaceAllocation(tx, was, a), putAccount(tx, was, &c.after.task, a)); err != nil {
			return err
		}
	}
	for _, id := range c.gone {
		if err := toDocs().allocations.Delete(tx, string(id)); err != nil {
			return err
		}
	}
	return nil
}

// writeTask stores a task that is in memory, and updates its row in the list. When the task ends its
// document gets a time, and a restarted master does not read it.
func (c *change) writeTask(tx *store.Tx) error {
	before, after := &c.before.task, &c.after.task
	var found bool
	var err error
	if c.isEnd() {
		found, err = toDocs().tasks.ReplaceAt(tx, string(after.ID), after.Ended, *after)
	} else {
		found, err = toDocs().tasks.Replace(tx, string(after.ID), *after)
	}
	if err == nil && !found {
		err = fmt.Errorf("change task %s: it is not in the store", after.ID)
	}
	if err != nil || kindOf(after.Kind).owned {
		return err
	}
	if before.Pool != after.Pool {
		err = store.MoveTaskRow(tx, string(after.ID), after.Pool)
	}
	if err == nil && c.isEnd() {
		err = errors.Join(store.EndTaskRow(tx, string(after.ID), after.Ended.UnixMicro()), store.AddTaskEnd(tx, endOf(c.after)))
	}
	return err
}

// compareSnapshots returns the allocations that are new or changed, and those that were removed.
func compareSnapshots(before, after *snapshot) (changed []*lifecycle.Allocation, gone []rm.AllocationID) {
	for i := range after.allocations {
		a := &after.allocations[i]
		if was := before.findAllocation(a.ID); was == nil || !reflect.DeepEqual(a, was) {
			changed = append(changed, a)
		}
	}
	for i := range before.allocations {
		if id := before.allocations[i].ID; after.findAllocation(id) == nil {
			gone = append(gone, id)
		}
	}
	return changed, gone
}

// replaceAllocation stores an existing or a new allocation.
func replaceAllocation(tx *store.Tx, was, a *lifecycle.Allocation) error {
	if was != nil && was.Created.Equal(a.Created) {
		found, err := toDocs().allocations.Replace(tx, string(a.ID), *a)
		if err != nil || found {
			return err
		}
	}
	return putAllocation(tx, *a)
}
