package experiment

import (
	"context"

	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/quota"
)

// storerOf is the user for whom the bytes of an experiment are counted.
func storerOf(x record.Experiment) quota.User { return quota.User{ID: x.UserID, Name: x.Username} }

// countStored counts what the experiments of earlier versions have stored.
func (s *shared) countStored(ctx context.Context) error {
	return s.cfg.Quota.Count(ctx, quota.Definitions, func(context.Context) (map[int32]int64, error) {
		of := map[int32]int64{}
		for _, e := range s.reg.all() {
			of[e.stored().UserID] += e.stored().ModelBytes
		}
		return of, nil
	})
}
