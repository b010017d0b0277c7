package series

import (
	"cmp"
	"context"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/experiment"
)

// messageBytes is the size above which no more trials are added to a message.
const messageBytes = 1 << 20

// Snapshot sends the value of each trial's metric at a step, or within a margin of it, until the
// experiment has ended. Many trials are split into several messages.
func (s *Series) Snapshot(ctx context.Context, q *apiv1.TrialsSnapshotRequest, send func(*apiv1.TrialsSnapshotResponse) error) error {
	steps, margin := q.GetBatchesProcessed(), q.GetBatchesMargin()
	if steps < 0 || margin < 0 {
		return status.New(status.InvalidArgument, "batchesProcessed and batchesMargin: must not be negative (%d, %d)", steps, margin)
	}
	c, err := curveOf(q)
	if err != nil {
		return err
	}
	return s.follow(ctx, []int32{q.GetExperimentId()}, q.GetPeriodSeconds(), func(trials []experiment.TrialView) error {
		out, size := &apiv1.TrialsSnapshotResponse{}, 0
		for _, t := range trials {
			m, err := s.nearest(ctx, t, c, int64(steps), int64(margin))
			if err != nil {
				return err
			}
			if m == nil {
				continue
			}
			if size > messageBytes {
				if err := send(out); err != nil {
					return err
				}
				out, size = &apiv1.TrialsSnapshotResponse{}, 0
			}
			out.Trials = append(out.Trials, m)
			size += proto.Size(m)
		}
		return send(out)
	})
}

// nearest returns the report of a trial that is nearest to a step, or nil if no report is within the
// margin.
func (s *Series) nearest(ctx context.Context, t experiment.TrialView, c name, steps, margin int64) (*apiv1.TrialsSnapshotResponse_Trial, error) {
	points, err := s.readCurve(ctx, t.ID, c, window{from: max(steps-margin, 0), to: steps + margin})
	if err != nil || len(points) == 0 {
		return nil, err
	}
	p := slices.MinFunc(points, func(a, b point) int { return cmp.Compare(distance(a.steps, steps), distance(b.steps, steps)) })
	m := &apiv1.TrialsSnapshotResponse_Trial{TrialId: t.ID, Metric: p.value, BatchesProcessed: int32(p.steps)}
	m.Hparams, err = t.ShowHparams(ctx, s.cfg.Store)
	return m, err
}

func distance(a, b int64) int64 { return max(a-b, b-a) }
