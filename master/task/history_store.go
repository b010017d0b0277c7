package task

import (
	"context"
	"time"

	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/master/task/lifecycle"
)

// findPast returns a command that is no longer listed.
func (v *views) findPast(ctx context.Context, id string) (snapshot, bool, error) {
	d, found, err := toDocs().past.Get(ctx, v.cfg.Store, id)
	if err != nil || !found || kindOf(d.Value.Kind).owned || d.Value.Last == nil {
		return snapshot{}, false, err
	}
	return pastSnapshot(d.Value), true, nil
}

func pastSnapshot(t lifecycle.Task) snapshot {
	return snapshot{task: t, allocations: []lifecycle.Allocation{*t.Last}}
}

// withLast returns the task with what its history shows of its allocations.
func withLast(s snapshot) lifecycle.Task {
	last := s.currentAllocation()
	last.Lines, last.SSHSeed, last.Gathered = nil, nil, nil
	if stop := s.latestPreemption(); stop != nil {
		last.Preempted = stop
	}
	s.task.Last = &last
	return s.task
}

// endOf returns the row of an ended command in the history. Without allocations it has no state.
func endOf(s *snapshot) store.TaskEnd {
	e := store.TaskEnd{
		ID: string(s.task.ID), Ended: s.task.Ended.UnixMicro(), UserID: s.task.UserID, Pool: s.task.Pool, Labels: labelTexts(s.task.Labels),
	}
	if len(s.allocations) > 0 {
		e.State = string(s.currentAllocation().Status())
	}
	return e
}

// carryEnds adds the ended and listed commands of an earlier version to the history. It may be interrupted
// and repeated.
func (rec *records) carryEnds(ctx context.Context) error {
	const key = "ends"
	if _, done, err := toDocs().carried.Get(ctx, rec.cfg.Store, key); err != nil || done {
		return err
	}
	for after, more := "", true; more; {
		list, err := toDocs().tasks.Behind(ctx, rec.cfg.Store, after, time.Time{}, carriedTogether)
		if err != nil {
			return err
		}
		ids := make([]string, 0, len(list))
		for _, d := range list {
			if after = d.ID; !kindOf(d.Value.Kind).owned {
				ids = append(ids, d.ID)
			}
		}
		ended, err := readEnded(ctx, rec.cfg.Store, ids)
		if err != nil {
			return err
		}
		if err := rec.cfg.Store.Write(ctx, func(tx *store.Tx) error { return addEnds(tx, ended) }); err != nil {
			return err
		}
		more = len(list) == carriedTogether
	}
	return rec.cfg.Store.Write(ctx, func(tx *store.Tx) error {
		return toDocs().carried.Put(tx, key, "", time.Time{}, carriedOver{rec.cfg.Now().UTC()})
	})
}

func addEnds(tx *store.Tx, list []snapshot) error {
	for i := range list {
		if err := store.AddTaskEnd(tx, endOf(&list[i])); err != nil {
			return err
		}
	}
	return nil
}
