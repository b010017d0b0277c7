package series

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/experiment"
)

const (
	defaultSampled = 25
	defaultPoints  = 1000
	mostPoints     = 10_000
)

// sampled is the requested part of the curves, with defaults applied.
type sampled struct {
	window

	trials, points int
}

func readSampled(maxTrials, maxPoints, start, end int32) (r sampled, err error) {
	if maxTrials < 0 || maxPoints < 0 || maxTrials > mostTrials || maxPoints > mostPoints {
		return r, status.New(status.InvalidArgument, "maxTrials and maxDatapoints: must be 0 to %d (%d, %d)", mostPoints, maxTrials, maxPoints)
	}
	r.trials, r.points = cmp.Or(int(maxTrials), defaultSampled), cmp.Or(int(maxPoints), defaultPoints)
	r.window, err = windowOf(start, end)
	return r, err
}

// Sample sends the curves of the best trials of an experiment until it has ended. Each message
// contains the new points, and the trials that have joined or left the best ones.
func (s *Series) Sample(ctx context.Context, q *apiv1.TrialsSampleRequest, send func(*apiv1.TrialsSampleResponse) error) error {
	c, err := curveOf(q)
	if err != nil {
		return err
	}
	r, err := readSampled(q.GetMaxTrials(), q.GetMaxDatapoints(), q.GetStartBatches(), q.GetEndBatches())
	if err != nil {
		return err
	}
	x, err := s.cfg.Experiments.Get(q.GetExperimentId())
	if err != nil {
		return err
	}
	sent := map[int32]int64{} // the last sent step by trial, for the best trials
	return s.follow(ctx, []int32{q.GetExperimentId()}, q.GetPeriodSeconds(), func(trials []experiment.TrialView) error {
		best := bestTrials(trials, r.trials, x.Searcher.SmallerIsBetter)
		out := &apiv1.TrialsSampleResponse{}
		for id := range sent {
			if !slices.ContainsFunc(best, func(t experiment.TrialView) bool { return t.ID == id }) {
				out.DemotedTrials = append(out.DemotedTrials, id)
				delete(sent, id)
			}
		}
		slices.Sort(out.GetDemotedTrials())
		for _, t := range best {
			if _, known := sent[t.ID]; !known {
				out.PromotedTrials = append(out.PromotedTrials, t.ID)
				sent[t.ID] = r.from - 1
			}
			m, last, err := s.sampleTrial(ctx, t, c, window{sent[t.ID] + 1, r.to}, r.points)
			if err != nil {
				return err
			}
			sent[t.ID] = max(last, sent[t.ID])
			out.Trials = append(out.Trials, m)
		}
		return send(out)
	})
}

// sampleTrial returns the points of a trial in a window, and the step of the last one.
func (s *Series) sampleTrial(ctx context.Context, t experiment.TrialView, c name, w window, most int) (m *apiv1.TrialsSampleResponse_Trial, last int64, err error) {
	points, err := s.readCurve(ctx, t.ID, c, w)
	if err != nil {
		return nil, 0, err
	}
	if n := len(points); n > 0 {
		last = points[n-1].steps
	}
	m = &apiv1.TrialsSampleResponse_Trial{TrialId: t.ID, Data: showPoints(c.metric, downsample(points, most))}
	m.Hparams, err = t.ShowHparams(ctx, s.cfg.Store)
	return m, last, err
}

// bestTrials returns the trials with the best validations. Trials without a validation are last.
func bestTrials(trials []experiment.TrialView, most int, smallerIsBetter bool) []experiment.TrialView {
	value := func(t experiment.TrialView) float64 {
		if t.Best == nil || math.IsNaN(float64(t.Best.Metric)) {
			return math.Inf(1)
		}
		if smallerIsBetter {
			return float64(t.Best.Metric)
		}
		return -float64(t.Best.Metric)
	}
	ordered := slices.SortedStableFunc(slices.Values(trials), func(a, b experiment.TrialView) int {
		return cmp.Or(cmp.Compare(value(a), value(b)), cmp.Compare(a.ID, b.ID))
	})
	return ordered[:min(most, len(ordered))]
}
