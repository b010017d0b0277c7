package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// experiments are the calls about experiments.
type experiments struct{ *transport }

// ExperimentQuery selects experiments. The newest come first.
type ExperimentQuery struct {
	// Users selects their owners; empty selects all.
	Users []string
	// Archived includes archived experiments.
	Archived bool
	// States are names like "ACTIVE"; empty selects all.
	States []string
	// Labels selects experiments that have all of these labels.
	Labels []string
	// Pools selects experiments in one of these resource pools; empty selects all.
	Pools []string
	// Name is a part of the name; empty selects all.
	Name string
	// Project and Workspace select experiments in one of these; 0 selects all.
	Project, Workspace int32
	// Limit is the maximum number; 0 means all.
	Limit int
}

// pageSize is the number of entries per request of a list.
const pageSize = 200

// Experiments lists experiments.
func (e experiments) Experiments(ctx context.Context, q ExperimentQuery) (all []*apiv1.Experiment, err error) {
	query := q.values()
	query.Set("sortBy", "SORT_BY_ID")
	query.Set("orderBy", "ORDER_BY_DESC")
	err = readPages(q.Limit, query, func() (int, *apiv1.Pagination, error) {
		out := &apiv1.GetExperimentsResponse{}
		err := e.do(ctx, call{op: "list experiments", method: http.MethodGet, path: "/api/v1/experiments", query: query, out: out})
		all = append(all, out.GetExperiments()...)
		return len(all), out.GetPagination(), err
	})
	return all, err
}

func (q ExperimentQuery) values() url.Values {
	v := url.Values{"users": q.Users, "labels": q.Labels, "pools": q.Pools}
	if !q.Archived {
		v.Set("archived", "false")
	}
	for _, s := range q.States {
		v.Add("states", "STATE_"+s)
	}
	if q.Name != "" {
		v.Set("name", q.Name)
	}
	if q.Project != 0 {
		v.Set("projectId", number(q.Project))
	}
	if q.Workspace != 0 {
		v.Set("workspaceId", number(q.Workspace))
	}
	return v
}

// readPages reads a list page by page, up to limit entries, or all if limit is 0.
func readPages(limit int, query url.Values, read func() (have int, p *apiv1.Pagination, err error)) error {
	for have := 0; ; {
		size := pageSize
		if limit > 0 {
			size = min(size, limit-have)
		}
		query.Set("offset", strconv.Itoa(have))
		query.Set("limit", strconv.Itoa(size))
		now, p, err := read()
		if err != nil || now == have || now >= int(p.GetTotal()) || now == limit {
			return err
		}
		have = now
	}
}

// CreateExperiment submits an experiment. A lost response is an error, because the experiment may
// have been accepted.
func (e experiments) CreateExperiment(ctx context.Context, in *apiv1.CreateExperimentRequest) (*apiv1.CreateExperimentResponse, error) {
	out := &apiv1.CreateExperimentResponse{}
	return out, e.do(ctx, call{op: "create the experiment", method: http.MethodPost, path: "/api/v1/experiments", in: in, out: out, once: true})
}

// Experiment returns one experiment with its resource usage.
func (e experiments) Experiment(ctx context.Context, id int32) (*apiv1.GetExperimentResponse, error) {
	return e.getExperiment(ctx, id, url.Values{"usage": {"true"}})
}

// ExperimentDetail is Experiment with the place in the queue of an experiment that waits, and the last lines of
// one that failed.
func (e experiments) ExperimentDetail(ctx context.Context, id int32) (*apiv1.GetExperimentResponse, error) {
	return e.getExperiment(ctx, id, url.Values{"usage": {"true"}, "detail": {"true"}})
}

func (e experiments) getExperiment(ctx context.Context, id int32, query url.Values) (*apiv1.GetExperimentResponse, error) {
	out := &apiv1.GetExperimentResponse{}
	return out, e.do(ctx, call{op: "get experiment " + number(id), method: http.MethodGet, path: experimentPath(id), query: query, out: out})
}

// ExperimentHistory returns the events of an experiment, oldest first.
func (e experiments) ExperimentHistory(ctx context.Context, id int32) (all []*apiv1.ExperimentEvent, err error) {
	query := url.Values{}
	err = readPages(0, query, func() (int, *apiv1.Pagination, error) {
		out := &apiv1.GetExperimentHistoryResponse{}
		err := e.do(ctx, call{op: "read the history of experiment " + number(id), method: http.MethodGet, path: experimentPath(id) + "/history", query: query, out: out})
		all = append(all, out.GetEvents()...)
		return len(all), out.GetPagination(), err
	})
	return all, err
}

// ExperimentTrials returns the trials of an experiment by ID.
func (e experiments) ExperimentTrials(ctx context.Context, id int32, states ...string) (all []*apiv1.Trial, err error) {
	query := url.Values{"sortBy": {"SORT_BY_ID"}}
	for _, s := range states {
		query.Add("states", "STATE_"+s)
	}
	err = readPages(0, query, func() (int, *apiv1.Pagination, error) {
		out := &apiv1.GetExperimentTrialsResponse{}
		err := e.do(ctx, call{op: "list the trials of experiment " + number(id), method: http.MethodGet, path: experimentPath(id) + "/trials", query: query, out: out})
		all = append(all, out.GetTrials()...)
		return len(all), out.GetPagination(), err
	})
	return all, err
}

// ChangeExperiment applies a verb: pause, activate, cancel, kill, archive or unarchive. It may be
// repeated.
func (e experiments) ChangeExperiment(ctx context.Context, id int32, verb string) error {
	return e.do(ctx, call{op: verb + " experiment " + number(id), method: http.MethodPost, path: experimentPath(id) + "/" + url.PathEscape(verb)})
}

// DeleteExperiment deletes an ended experiment with its checkpoints, metrics and logs.
func (e experiments) DeleteExperiment(ctx context.Context, id int32) error {
	return e.do(ctx, call{op: "delete experiment " + number(id), method: http.MethodDelete, path: experimentPath(id)})
}

// DeleteExperimentRecords deletes an ended experiment, leaves its files in the storage, and returns
// their directories.
func (e experiments) DeleteExperimentRecords(ctx context.Context, id int32) ([]string, error) {
	out := &apiv1.DeleteExperimentResponse{}
	query := url.Values{"keepFiles": {"true"}}
	err := e.do(ctx, call{op: "delete experiment " + number(id), method: http.MethodDelete, path: experimentPath(id), query: query, out: out})
	return out.GetKeptFiles(), err
}

func experimentPath(id int32) string { return "/api/v1/experiments/" + number(id) }

func number(id int32) string { return strconv.Itoa(int(id)) }
