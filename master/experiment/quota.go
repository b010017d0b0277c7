package experiment

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/quota"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/store"
)

// storerOf returns the user whose quota includes the experiment.
func storerOf(x record.Experiment) quota.User { return quota.User{ID: x.UserID, Name: x.Username} }

// countStored adds the stored data of experiments of earlier versions to the quota.
func (s *shared) countStored(ctx context.Context) error {
	return errors.Join(
		s.cfg.Quota.Count(ctx, quota.Definitions, "experiments", s.sumDefinitions),
		s.cfg.Quota.Count(ctx, quota.Metrics, "trials", s.sumMetrics),
		s.cfg.Quota.Count(ctx, quota.Logs, "trials elsewhere", s.sumLogsElsewhere),
	)
}

// OwnerOfLog returns the owner of the trial that a task runs, inside or outside the cluster, and
// false if the task does not belong to a trial.
func (v *views) OwnerOfLog(id string) (quota.User, bool) {
	e, err := v.ofTask(rm.TaskID(id))
	if err != nil {
		return quota.User{}, false
	}
	return storerOf(*e.stored()), true
}

// sumDefinitions returns the size of all model definitions by user.
func (s *shared) sumDefinitions(context.Context) (map[int32]int64, error) {
	of := map[int32]int64{}
	for _, e := range s.reg.all() {
		of[e.stored().UserID] += e.stored().ModelBytes
	}
	return of, nil
}

// sumMetrics returns the size of all metrics by user.
func (s *shared) sumMetrics(ctx context.Context) (map[int32]int64, error) {
	sizes, err := store.MetricBytesByTrial(ctx, s.cfg.Store)
	if err != nil {
		return nil, err
	}
	var keys []string
	for _, trial := range slices.Sorted(maps.Keys(sizes)) {
		keys = append(keys, record.Key(int32(trial))) //nolint:gosec // as it was stored
	}
	of := map[int32]int64{}
	for some := range slices.Chunk(keys, 500) {
		trials, err := record.Docs().Trials.ByIDs(ctx, s.cfg.Store, some)
		if err != nil {
			return nil, err
		}
		for _, d := range trials {
			if e, err := s.reg.find(d.Value.Experiment); err == nil {
				of[e.stored().UserID] += sizes[int64(d.Value.ID)]
			}
		}
	}
	return of, nil
}

// sumLogsElsewhere returns the size of the logs of unmanaged trials by user.
func (s *shared) sumLogsElsewhere(ctx context.Context) (map[int32]int64, error) {
	of := map[int32]int64{}
	var sizes map[string]int64
	for _, e := range s.reg.all() {
		x := e.stored()
		if !x.Unmanaged {
			continue
		}
		var err error
		if sizes == nil {
			if sizes, err = store.LogBytesByTask(ctx, s.cfg.Store); err != nil {
				return nil, err
			}
		}
		trials, err := record.Docs().Trials.ByParent(ctx, s.cfg.Store, record.Key(x.ID))
		if err != nil {
			return nil, err
		}
		for _, d := range trials {
			for _, id := range d.Value.Tasks {
				of[x.UserID] += sizes[id]
			}
		}
	}
	return of, nil
}
