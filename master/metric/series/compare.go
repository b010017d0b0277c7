package series

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/internal/excerpt"
	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// mostCompared limits the trials of a comparison.
const mostCompared = 500

// comparedNames returns the requested metrics. It returns InvalidArgument if the request names no
// metric.
func comparedNames(q *apiv1.CompareTrialsRequest) ([]name, error) {
	var all []name
	for _, n := range q.GetMetricNames() {
		all = append(all, name{groupOf(q.GetGroup(), q.GetMetricType()), n})
	}
	for _, id := range q.GetMetricIds() {
		group, n, found := strings.Cut(id, ".")
		if !found {
			return nil, status.New(status.InvalidArgument, "metricIds: must have the form group.name (%q)", excerpt.Of(id))
		}
		all = append(all, name{group, n})
	}
	if len(all) == 0 {
		return nil, status.New(status.InvalidArgument, "metricNames or metricIds: must name a metric")
	}
	slices.SortFunc(all, compareNames)
	return slices.Compact(all), nil
}

// Compare returns the curves of several trials. The function show returns the message of a trial.
func (s *Series) Compare(ctx context.Context, q *apiv1.CompareTrialsRequest, show func(ctx context.Context, id int32) (*apiv1.Trial, error)) (*apiv1.CompareTrialsResponse, error) {
	names, err := comparedNames(q)
	if err != nil {
		return nil, err
	}
	r, err := readSampled(0, q.GetMaxDatapoints(), q.GetStartBatches(), q.GetEndBatches())
	if err != nil {
		return nil, err
	}
	if len(q.GetTrialIds()) == 0 || len(q.GetTrialIds()) > mostCompared {
		return nil, status.New(status.InvalidArgument, "trialIds: must be 1 to %d trials (%d)", mostCompared, len(q.GetTrialIds()))
	}
	out := &apiv1.CompareTrialsResponse{}
	for _, id := range q.GetTrialIds() {
		trial, err := show(ctx, id)
		if err != nil {
			return nil, err
		}
		curves, err := s.compared(ctx, id, names, r)
		if err != nil {
			return nil, err
		}
		out.Trials = append(out.Trials, &apiv1.ComparableTrial{Trial: trial, Metrics: curves})
	}
	return out, nil
}

// compared returns the curves of a trial by group. A point contains all values of its step.
func (s *Series) compared(ctx context.Context, trial int32, names []name, r sampled) ([]*apiv1.DownsampledMetrics, error) {
	var all []*apiv1.DownsampledMetrics
	for _, n := range names {
		points, err := s.readCurve(ctx, trial, n, r.window)
		if err != nil {
			return nil, err
		}
		if len(points) == 0 {
			continue
		}
		if len(all) == 0 || all[len(all)-1].GetGroup() != n.group {
			all = append(all, &apiv1.DownsampledMetrics{Group: n.group, Type: typeOf(n.group)})
		}
		of := all[len(all)-1]
		of.Data = mergePoints(of.GetData(), showPoints(n.metric, downsample(points, r.points)))
	}
	return all, nil
}

// mergePoints merges the points of two curves by step.
func mergePoints(a, b []*apiv1.DataPoint) []*apiv1.DataPoint {
	all := slices.SortedStableFunc(slices.Values(append(a, b...)), func(x, y *apiv1.DataPoint) int { return cmp.Compare(x.GetBatches(), y.GetBatches()) })
	merged := all[:0]
	for _, p := range all {
		if n := len(merged); n > 0 && merged[n-1].GetBatches() == p.GetBatches() {
			for name, value := range p.GetValues().GetFields() {
				merged[n-1].Values.Fields[name] = value
			}
			continue
		}
		merged = append(merged, p)
	}
	return merged
}
