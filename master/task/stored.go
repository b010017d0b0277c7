package task

import (
	"context"
	"time"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/quota"
)

// ownerOf is a user whose stored bytes are counted.
func ownerOf(u *apiv1.User) quota.User { return quota.User{ID: u.GetId(), Name: u.GetUsername()} }

// countStored counts what the tasks of earlier versions have stored.
func (rec *records) countStored(ctx context.Context) error {
	return rec.cfg.Quota.Count(ctx, quota.Contexts, rec.sumContexts)
}

// sumContexts adds up the files of each user's listed tasks.
func (rec *records) sumContexts(ctx context.Context) (map[int32]int64, error) {
	of := map[int32]int64{}
	for after, more := "", true; more; {
		list, err := toDocs().tasks.Behind(ctx, rec.cfg.Store, after, time.Time{}, carriedTogether)
		if err != nil {
			return nil, err
		}
		for _, d := range list {
			of[d.Value.UserID] += d.Value.ContextBytes
			after = d.ID
		}
		more = len(list) == carriedTogether
	}
	return of, nil
}
