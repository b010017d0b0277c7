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

// storerOf is the user for whom the bytes of an experiment are counted.
func storerOf(x record.Experiment) quota.User { return quota.User{ID: x.UserID, Name: x.Username} }

// countStored counts what the experiments of earlier versions have stored.
func (s *shared) countStored(ctx context.Context) error {
	return errors.Join(
		s.cfg.Quota.Count(ctx, quota.Definitions, "experiments", s.sumDefinitions),
		s.cfg.Quota.Count(ctx, quota.Metrics, "trials", s.sumMetrics),
		s.cfg.Quota.Count(ctx, quota.Logs, "trials elsewhere", s.sumLogsElsewhere),
	)
}

// OwnerOfLog is the user whose trial a task runs, in the cluster or elsewhere; false is a task of no trial.
func (v *views) OwnerOfLog(id string) (quota.User, bool) {
	e, err := v.ofTask(rm.TaskID(id))
	if err != nil {
		return quota.User{}, false
	}
	return storerOf(*e.stored()), true
}

// sumDefinitions adds up the model definitions of each user's experiments.
func (s *shared) sumDefinitions(context.Context) (map[int32]int64, error) {
	of := map[int32]int64{}
	for _, e := range s.reg.all() {
		of[e.stored().UserID] += e.stored().ModelBytes
	}
	return of, nil
}

// sumMetrics adds up the reports of the trials of each user's experiments.
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

// sumLogsElsewhere adds up the logs of trials that no task of the cluster runs.
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
