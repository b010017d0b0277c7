package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// Page selects a part of a list.
type Page struct {
	// Sort is the key of the order, such as "START_TIME"; empty is the order of the call.
	Sort       string
	Descending bool
	// Offset is the number of entries before the page, and Limit its length.
	Offset, Limit int
}

func (p Page) addTo(v url.Values) {
	if p.Sort != "" {
		v.Set("sortBy", "SORT_BY_"+p.Sort)
	}
	if p.Descending {
		v.Set("orderBy", "ORDER_BY_DESC")
	}
	v.Set("offset", strconv.Itoa(p.Offset))
	v.Set("limit", strconv.Itoa(p.Limit))
}

// ExperimentPage returns a page of the experiments; q.Limit has no effect.
func (e experiments) ExperimentPage(ctx context.Context, q ExperimentQuery, p Page) (*apiv1.GetExperimentsResponse, error) {
	query, out := q.values(), &apiv1.GetExperimentsResponse{}
	p.addTo(query)
	return out, e.do(ctx, call{op: "list experiments", method: http.MethodGet, path: "/api/v1/experiments", query: query, out: out})
}

// ExperimentLabels returns the labels in use in a project, or in all if it is 0, the most used first.
func (e experiments) ExperimentLabels(ctx context.Context, project int32) ([]string, error) {
	query, out := url.Values{"projectId": {number(project)}}, &apiv1.GetExperimentLabelsResponse{}
	err := e.do(ctx, call{op: "list labels", method: http.MethodGet, path: "/api/v1/experiment/labels", query: query, out: out})
	return out.GetLabels(), err
}

// HistoryPage returns a page of the events of an experiment, oldest first, and with rungs the rungs of its
// search.
func (e experiments) HistoryPage(ctx context.Context, id int32, p Page, rungs bool) (*apiv1.GetExperimentHistoryResponse, error) {
	query, out := url.Values{"rungs": {strconv.FormatBool(rungs)}}, &apiv1.GetExperimentHistoryResponse{}
	p.addTo(query)
	return out, e.do(ctx, call{op: "read the history of experiment " + number(id), method: http.MethodGet, path: experimentPath(id) + "/history", query: query, out: out})
}

// TrialPage returns a page of the trials of an experiment in any of the states.
func (e experiments) TrialPage(ctx context.Context, id int32, p Page, states ...string) (*apiv1.GetExperimentTrialsResponse, error) {
	query, out := url.Values{}, &apiv1.GetExperimentTrialsResponse{}
	for _, s := range states {
		query.Add("states", "STATE_"+s)
	}
	p.addTo(query)
	return out, e.do(ctx, call{op: "list the trials of experiment " + number(id), method: http.MethodGet, path: experimentPath(id) + "/trials", query: query, out: out})
}

// CompareTrials returns curves of trials with at most the given number of points each. A metric has the form
// group.name.
func (t trials) CompareTrials(ctx context.Context, ids []int32, metrics []string, points int) ([]*apiv1.ComparableTrial, error) {
	query, out := url.Values{"metricIds": metrics, "maxDatapoints": {strconv.Itoa(points)}}, &apiv1.CompareTrialsResponse{}
	for _, id := range ids {
		query.Add("trialIds", number(id))
	}
	err := t.do(ctx, call{op: "read the curves", method: http.MethodGet, path: "/api/v1/trials/time-series", query: query, out: out})
	return out.GetTrials(), err
}

// ExperimentFileTree returns the files that an experiment was created with.
func (e experiments) ExperimentFileTree(ctx context.Context, id int32) ([]*apiv1.FileNode, error) {
	out := &apiv1.GetModelDefTreeResponse{}
	err := e.do(ctx, call{op: "list the files of experiment " + number(id), method: http.MethodGet, path: experimentPath(id) + "/file_tree", out: out})
	return out.GetFiles(), err
}

// ExperimentFile returns the content of one of the files that an experiment was created with.
func (e experiments) ExperimentFile(ctx context.Context, id int32, path string) ([]byte, error) {
	out := &apiv1.GetModelDefFileResponse{}
	err := e.do(ctx, call{
		op: "read " + path + " of experiment " + number(id), method: http.MethodPost, path: experimentPath(id) + "/file",
		in: &apiv1.GetModelDefFileRequest{ExperimentId: id, Path: path}, out: out,
	})
	return out.GetFile(), err
}

// TrialCheckpoints returns a page of the checkpoints of a trial, the latest first.
func (p checkpoints) TrialCheckpoints(ctx context.Context, trial int32, offset, limit int) (*apiv1.GetTrialCheckpointsResponse, error) {
	query, out := url.Values{"sortByAttr": {"SORT_BY_BATCH_NUMBER"}}, &apiv1.GetTrialCheckpointsResponse{}
	Page{Descending: true, Offset: offset, Limit: limit}.addTo(query)
	return out, p.do(ctx, call{op: "list checkpoints", method: http.MethodGet, path: trialPath(trial) + "/checkpoints", query: query, out: out})
}
