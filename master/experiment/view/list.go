package view

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/experiment"
	"github.com/det-deploy/det-deploy/master/experiment/record"
)

// listed is the length of a page of experiments without a limit, as in Determined 0.38.1.
const listed = 100

// List returns the requested page of experiments without the submitted configurations. It reads only
// the configurations of the page.
func (e *Experiments) List(ctx context.Context, r *apiv1.GetExperimentsRequest) (*apiv1.GetExperimentsResponse, error) {
	out := &apiv1.GetExperimentsResponse{}
	list := e.cfg.Experiments.Page(experiment.Query{
		Filter: readFilter(r), Order: experimentOrder(r.GetSortBy(), r.GetDescending()), Descending: r.GetDescending(),
		Cut: func(total int) (from, to int) {
			from, to, out.Pagination = cutPage(total, r.GetOffset(), cmp.Or(r.GetLimit(), listed))
			return from, to
		},
	})
	configs, err := e.cfg.Experiments.ShownConfigs(ctx, list)
	if err != nil {
		return nil, err
	}
	out.Experiments = make([]*apiv1.Experiment, 0, len(list))
	for _, v := range list {
		x := e.show(v)
		if x.Config, err = toStruct(configs[v.ID]); err != nil {
			return nil, err
		}
		out.Experiments = append(out.Experiments, x)
	}
	return out, nil
}

// Named returns at most limit experiments whose ID or name begins with text: those with exactly this name
// first, then the newest.
func (e *Experiments) Named(text string, limit int) []*apiv1.Name {
	var out []*apiv1.Name
	for _, v := range e.cfg.Experiments.Named(text, limit) {
		x := e.show(v)
		out = append(out, &apiv1.Name{
			Id: strconv.Itoa(int(x.GetId())), Name: x.GetName(), Username: x.GetUsername(), State: apiv1.StateWord(x.GetState().String()),
		})
	}
	return out
}

// Owned returns the IDs of the experiments that match a request and that the user may change.
func (e *Experiments) Owned(by *apiv1.User, r *apiv1.GetExperimentsRequest) (ids []int32) {
	for _, x := range e.cfg.Experiments.Rows(readFilter(r)) {
		if by.GetAdmin() || by.GetId() == x.UserID {
			ids = append(ids, x.ID)
		}
	}
	return ids
}

// Matching returns the IDs of the experiments that match a request.
func Matching(all *experiment.Experiments, r *apiv1.GetExperimentsRequest) (ids []int32) {
	for _, x := range all.Rows(readFilter(r)) {
		ids = append(ids, x.ID)
	}
	return ids
}

func readFilter(r *apiv1.GetExperimentsRequest) experiment.Filter {
	f := experiment.Filter{
		Archived: r.Archived, Users: r.GetUsers(), UserIDs: r.GetUserIds(), Name: r.GetName(), Description: r.GetDescription(),
		Labels: r.GetLabels(), Project: max(r.GetProjectId(), 0), // -1 means any project, like 0
		IDs: r.GetIds(), NotIDs: r.GetExcludedIds(), Pools: r.GetPools(),
		FromID: r.GetFromId(), UntilID: r.GetToId(), Workspace: r.GetWorkspaceId(),
	}
	for _, s := range r.GetStates() {
		f.States = append(f.States, strings.TrimPrefix(s.String(), "STATE_"))
	}
	return f
}

type order[T any] func(a, b T) int

// by returns an order by a key.
func by[T any, K cmp.Ordered](key func(T) K) order[T] {
	return func(a, b T) int { return cmp.Compare(key(a), key(b)) }
}

// sortBy sorts a list that is ordered by ID. Elements that compare equal keep that order.
func sortBy[T any](list []T, o order[T], descending bool) {
	slices.SortStableFunc(list, func(a, b T) int {
		if descending {
			return o(b, a)
		}
		return o(a, b)
	})
}

// experimentOrder returns nil, which orders by ID, for keys that are not supported.
func experimentOrder(key apiv1.GetExperimentsRequest_SortBy, descending bool) experiment.RowOrder {
	type row = experiment.Row
	orders := map[apiv1.GetExperimentsRequest_SortBy]experiment.RowOrder{
		apiv1.GetExperimentsRequest_SORT_BY_DESCRIPTION:         rowsBy(func(r row) string { return strings.ToLower(r.Description) }),
		apiv1.GetExperimentsRequest_SORT_BY_START_TIME:          experiment.OrderBy(func(r row) time.Time { return r.Started }, time.Time.Compare),
		apiv1.GetExperimentsRequest_SORT_BY_END_TIME:            experiment.OrderBy(func(r row) time.Time { return r.Ended }, compareEnds),
		apiv1.GetExperimentsRequest_SORT_BY_STATE:               rowsBy(func(r row) string { return r.Shown() }),
		apiv1.GetExperimentsRequest_SORT_BY_NUM_TRIALS:          rowsBy(func(r row) int { return r.Trials }),
		apiv1.GetExperimentsRequest_SORT_BY_PROGRESS:            rowsBy(func(r row) float64 { return r.Progress }),
		apiv1.GetExperimentsRequest_SORT_BY_USER:                rowsBy(func(r row) string { return r.Username }),
		apiv1.GetExperimentsRequest_SORT_BY_NAME:                rowsBy(func(r row) string { return strings.ToLower(r.Name) }),
		apiv1.GetExperimentsRequest_SORT_BY_FORKED_FROM:         rowsBy(func(r row) int32 { return r.ForkedFrom }),
		apiv1.GetExperimentsRequest_SORT_BY_RESOURCE_POOL:       rowsBy(func(r row) string { return r.Queue.Pool }),
		apiv1.GetExperimentsRequest_SORT_BY_PROJECT_ID:          rowsBy(func(r row) int32 { return r.ProjectID }),
		apiv1.GetExperimentsRequest_SORT_BY_SEARCHER_METRIC_VAL: rowsBy(func(r row) float64 { return metricOr(r.Best, descending) }),
	}
	return orders[key]
}

func rowsBy[K cmp.Ordered](key func(experiment.Row) K) experiment.RowOrder {
	return experiment.OrderBy(key, cmp.Compare[K])
}

// Labels returns the labels in use in a project, the most used first. Project 0 means all projects.
func (e *Experiments) Labels(project int32) []string {
	count := map[string]int{}
	for _, v := range e.cfg.Experiments.Rows(experiment.Filter{Project: project}) {
		for _, l := range v.Labels {
			count[l]++
		}
	}
	return slices.SortedFunc(maps.Keys(count), func(a, b string) int {
		return cmp.Or(count[b]-count[a], strings.Compare(a, b))
	})
}

// compareEnds sorts times of running experiments, which are zero, last.
func compareEnds(a, b time.Time) int {
	if a.IsZero() != b.IsZero() {
		if a.IsZero() {
			return 1
		}
		return -1
	}
	return a.Compare(b)
}

// metricOr returns a metric, or the value that sorts last if there is none.
func metricOr(b *record.Best, descending bool) float64 {
	switch {
	case b != nil && !math.IsNaN(float64(b.Metric)):
		return float64(b.Metric)
	case descending:
		return math.Inf(-1)
	}
	return math.Inf(1)
}

// Count returns the number of experiments by displayed state, in lower case and without STATE_, and
// the numbers of open and ended trials.
func (e *Experiments) Count() (states map[string]int, open, ended int) {
	states = map[string]int{}
	for _, name := range apiv1.Experiment_State_name {
		states[apiv1.StateWord(name)] = 0
	}
	// Deleted experiments have no record, and active ones are displayed in another state.
	for _, never := range []string{"unspecified", "active", "deleted"} {
		delete(states, never)
	}
	for _, x := range e.cfg.Experiments.Rows(experiment.Filter{}) {
		states[strings.ToLower(x.Shown())]++
		open += x.Open
		ended += x.Trials - x.Open
	}
	return states, open, ended
}
