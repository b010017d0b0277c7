package series

import (
	"context"
	"slices"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/experiment"
)

// Batches sends the steps at which a metric was reported, each once, until the experiment has ended.
func (s *Series) Batches(ctx context.Context, q *apiv1.MetricBatchesRequest, send func(*apiv1.MetricBatchesResponse) error) error {
	c, err := curveOf(q)
	if err != nil {
		return err
	}
	seen, ended := map[int64]bool{}, map[int32]bool{}
	return s.follow(ctx, []int32{q.GetExperimentId()}, q.GetPeriodSeconds(), func(trials []experiment.TrialView) error {
		var fresh []int32
		for _, t := range trials {
			if ended[t.ID] {
				continue
			}
			points, err := s.readCurve(ctx, t.ID, c, window{to: mostSteps})
			if err != nil {
				return err
			}
			for _, p := range points {
				if !seen[p.steps] {
					seen[p.steps] = true
					fresh = append(fresh, int32(p.steps))
				}
			}
			ended[t.ID] = t.Life.State.Over()
		}
		slices.Sort(fresh)
		return send(&apiv1.MetricBatchesResponse{Batches: fresh})
	})
}
