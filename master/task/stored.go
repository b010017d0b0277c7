package task

import (
	"context"
	"errors"
	"time"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/quota"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/master/task/lifecycle"
)

// ownerOf is a user whose stored bytes are counted.
func ownerOf(u *apiv1.User) quota.User { return quota.User{ID: u.GetId(), Name: u.GetUsername()} }

// countStored counts what the tasks of earlier versions have stored.
func (rec *records) countStored(ctx context.Context) error {
	return errors.Join(rec.cfg.Quota.Count(ctx, quota.Contexts, "tasks", rec.sumContexts), rec.cfg.Quota.Count(ctx, quota.Logs, "tasks", rec.sumLogs))
}

// sumContexts adds up the files of each user's listed tasks.
func (rec *records) sumContexts(ctx context.Context) (map[int32]int64, error) {
	of := map[int32]int64{}
	err := rec.readAll(ctx, toDocs().tasks, func(t lifecycle.Task) { of[t.UserID] += t.ContextBytes })
	return of, err
}

// sumLogs adds up the logs of each user's tasks, listed or not.
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

// readAll calls read with all tasks of a collection, a page at a time.
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
