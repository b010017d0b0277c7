package view

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/experiment"
)

// List is the experiments that a request asks for. Configurations are read for the page alone.
func (e *Experiments) List(ctx context.Context, r *apiv1.GetExperimentsRequest) (*apiv1.GetExperimentsResponse, error) {
	list := e.cfg.Experiments.List(readFilter(r))
	sortBy(list, experimentOrder(r.GetSortBy()), r.GetDescending())
	from, to, page := cutPage(len(list), r.GetOffset(), r.GetLimit())
	out := &apiv1.GetExperimentsResponse{Pagination: page, Experiments: make([]*apiv1.Experiment, 0, to-from)}
	for _, v := range list[from:to] {
		x, err := e.showConfigured(ctx, v)
		if err != nil {
			return nil, err
		}
		out.Experiments = append(out.Experiments, x)
	}
	return out, nil
}

func readFilter(r *apiv1.GetExperimentsRequest) experiment.Filter {
	f := experiment.Filter{
		Archived: r.Archived, Users: r.GetUsers(), UserIDs: r.GetUserIds(), Name: r.GetName(), Description: r.GetDescription(),
		Labels: r.GetLabels(), Project: r.GetProjectId(), IDs: r.GetIds(), NotIDs: r.GetExcludedIds(),
		FromID: r.GetFromId(), UntilID: r.GetToId(),
	}
	for _, s := range r.GetStates() {
		f.States = append(f.States, strings.TrimPrefix(s.String(), "STATE_"))
	}
	return f
}

type order[T any] func(a, b T) int

// by orders by a key.
func by[T any, K cmp.Ordered](key func(T) K) order[T] {
	return func(a, b T) int { return cmp.Compare(key(a), key(b)) }
}

// sortBy sorts a list that is in the order of its numbers; equal ones stay in it.
func sortBy[T any](list []T, o order[T], descending bool) {
	slices.SortStableFunc(list, func(a, b T) int {
		if descending {
			return o(b, a)
		}
		return o(a, b)
	})
}

// experimentOrder is by the number where nothing else is at hand.
func experimentOrder(key apiv1.GetExperimentsRequest_SortBy) order[experiment.View] {
	type view = experiment.View
	orders := map[apiv1.GetExperimentsRequest_SortBy]order[view]{
		apiv1.GetExperimentsRequest_SORT_BY_DESCRIPTION:   by(func(v view) string { return strings.ToLower(v.Description) }),
		apiv1.GetExperimentsRequest_SORT_BY_START_TIME:    func(a, b view) int { return a.Started.Compare(b.Started) },
		apiv1.GetExperimentsRequest_SORT_BY_END_TIME:      func(a, b view) int { return compareEnds(a.Ended, b.Ended) },
		apiv1.GetExperimentsRequest_SORT_BY_STATE:         by(func(v view) string { return v.Shown }),
		apiv1.GetExperimentsRequest_SORT_BY_NUM_TRIALS:    by(func(v view) int { return v.Trials }),
		apiv1.GetExperimentsRequest_SORT_BY_PROGRESS:      by(func(v view) float64 { return v.Progress }),
		apiv1.GetExperimentsRequest_SORT_BY_USER:          by(func(v view) string { return v.Username }),
		apiv1.GetExperimentsRequest_SORT_BY_NAME:          by(func(v view) string { return strings.ToLower(v.Name) }),
		apiv1.GetExperimentsRequest_SORT_BY_FORKED_FROM:   by(func(v view) int32 { return v.ForkedFrom }),
		apiv1.GetExperimentsRequest_SORT_BY_RESOURCE_POOL: by(func(v view) string { return v.Queue.Pool }),
		apiv1.GetExperimentsRequest_SORT_BY_PROJECT_ID:    by(func(v view) int32 { return v.ProjectID }),
		apiv1.GetExperimentsRequest_SORT_BY_SEARCHER_METRIC_VAL: func(a, b view) int {
			return compareBest(a.Best, b.Best)
		},
	}
	if o, found := orders[key]; found {
		return o
	}
	return by(func(v view) int32 { return v.ID })
}

// Labels are those in use in a project, 0 for all, the most used first.
func (e *Experiments) Labels(project int32) []string {
	count := map[string]int{}
	for _, v := range e.cfg.Experiments.List(experiment.Filter{Project: project}) {
		for _, l := range v.Labels {
			count[l]++
		}
	}
	return slices.SortedFunc(maps.Keys(count), func(a, b string) int {
		return cmp.Or(count[b]-count[a], strings.Compare(a, b))
	})
}
