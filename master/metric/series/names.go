package series

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/experiment"
	"github.com/det-deploy/det-deploy/master/metric"
)

// mostExperiments limits the experiments of one request.
const mostExperiments = 1000

// name is a metric of a group.
type name struct{ group, metric string }

func compareNames(a, b name) int {
	return cmp.Or(cmp.Compare(a.group, b.group), cmp.Compare(a.metric, b.metric))
}

// Names sends the metric names of experiments, and each new name when it appears, until the
// experiments have ended.
func (s *Series) Names(ctx context.Context, q *apiv1.ExpMetricNamesRequest, send func(*apiv1.ExpMetricNamesResponse) error) error {
	if n := len(q.GetIds()); n == 0 || n > mostExperiments {
		return status.New(status.InvalidArgument, "ids: must be 1 to %d experiments (%d)", mostExperiments, n)
	}
	searchers := map[string]bool{}
	for _, id := range q.GetIds() {
		x, err := s.cfg.Experiments.Get(id)
		if err != nil {
			return err
		}
		searchers[x.Searcher.Metric] = true
	}
	seen, ended := map[name]bool{}, map[int32]bool{}
	first := true
	return s.follow(ctx, q.GetIds(), q.GetPeriodSeconds(), func(trials []experiment.TrialView) error {
		fresh, err := s.freshNames(ctx, trials, seen, ended)
		if err != nil || (!first && len(fresh) == 0) {
			return err
		}
		out := showNames(fresh)
		if first {
			out.SearcherMetrics = slices.Sorted(maps.Keys(searchers))
		}
		first = false
		return send(out)
	})
}

// freshNames returns the metrics of trials that are not in seen, and adds them to seen. Ended trials
// are read only once.
func (s *Series) freshNames(ctx context.Context, trials []experiment.TrialView, seen map[name]bool, ended map[int32]bool) ([]name, error) {
	var fresh []name
	for _, t := range trials {
		if ended[t.ID] {
			continue
		}
		summary, err := s.cfg.Metrics.Summary(ctx, int64(t.ID))
		if err != nil {
			return nil, err
		}
		for group, stats := range summary {
			for metricName := range stats {
				if n := (name{group, metricName}); !seen[n] {
					seen[n] = true
					fresh = append(fresh, n)
				}
			}
		}
		ended[t.ID] = t.Life.State.Over()
	}
	return fresh, nil
}

func showNames(names []name) *apiv1.ExpMetricNamesResponse {
	slices.SortFunc(names, compareNames)
	out := &apiv1.ExpMetricNamesResponse{}
	for _, n := range names {
		out.MetricNames = append(out.MetricNames, &apiv1.MetricIdentifier{Group: n.group, Name: n.metric})
		switch n.group {
		case metric.Training:
			out.TrainingMetrics = append(out.TrainingMetrics, n.metric)
		case metric.Validation:
			out.ValidationMetrics = append(out.ValidationMetrics, n.metric)
		}
	}
	return out
}
