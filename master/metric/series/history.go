package series

import (
	"cmp"
	"context"
	"math"
	"slices"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/metric"
)

// ValidationHistory returns the validations of an experiment that were better than all earlier ones,
// in the order of their times.
func (s *Series) ValidationHistory(ctx context.Context, id int32) (*apiv1.GetExperimentValidationHistoryResponse, error) {
	x, err := s.cfg.Experiments.Get(id)
	if err != nil {
		return nil, err
	}
	trials, err := s.cfg.Experiments.Trials(ctx, id)
	if err != nil {
		return nil, err
	}
	var all []validation
	c := name{metric.Validation, x.Searcher.Metric}
	for _, t := range trials {
		points, err := s.readCurve(ctx, t.ID, c, window{to: mostSteps})
		if err != nil {
			return nil, err
		}
		for _, p := range points {
			all = append(all, validation{t.ID, p})
		}
	}
	out := &apiv1.GetExperimentValidationHistoryResponse{}
	for _, v := range improvements(all, x.Searcher.SmallerIsBetter) {
		out.ValidationHistory = append(out.ValidationHistory, &apiv1.ValidationHistoryEntry{TrialId: v.trial, EndTime: showTime(v.at), SearcherMetric: v.value})
	}
	return out, nil
}

// validation is a validation of a trial.
type validation struct {
	trial int32
	point
}

// improvements returns the validations that are better than all earlier ones.
func improvements(all []validation, smallerIsBetter bool) []validation {
	slices.SortFunc(all, func(a, b validation) int {
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.trial, b.trial), cmp.Compare(a.steps, b.steps))
	})
	var better []validation
	for _, v := range all {
		if math.IsNaN(v.value) {
			continue
		}
		if n := len(better); n == 0 || (smallerIsBetter && v.value < better[n-1].value) || (!smallerIsBetter && v.value > better[n-1].value) {
			better = append(better, v)
		}
	}
	return better
}
