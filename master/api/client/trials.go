package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// trials are the calls about trials.
type trials struct{ *transport }

// Trial returns one trial.
func (t trials) Trial(ctx context.Context, id int32) (*apiv1.Trial, error) {
	out := &apiv1.GetTrialResponse{}
	err := t.do(ctx, call{op: "get trial " + number(id), method: http.MethodGet, path: trialPath(id), out: out})
	return out.GetTrial(), err
}

// TrialDetail is Trial with the last lines of the program of a failed trial.
func (t trials) TrialDetail(ctx context.Context, id int32) (*apiv1.GetTrialResponse, error) {
	out := &apiv1.GetTrialResponse{}
	query := url.Values{"detail": {"true"}}
	return out, t.do(ctx, call{op: "get trial " + number(id), method: http.MethodGet, path: trialPath(id), query: query, out: out})
}

// KillTrial kills a trial. It has no effect on a trial that has ended.
func (t trials) KillTrial(ctx context.Context, id int32) error {
	return t.do(ctx, call{op: "kill trial " + number(id), method: http.MethodPost, path: trialPath(id) + "/kill"})
}

// TrialLogs reads the log of all runs of a trial, oldest line first. A followed log ends with the
// trial; after a broken connection, it continues with the next line.
func (t trials) TrialLogs(ctx context.Context, id int32, q LogQuery) iter.Seq2[*apiv1.TrialLogsResponse, error] {
	s := &stream[*apiv1.TrialLogsResponse]{
		client: t.transport, call: call{op: "read the log of trial " + number(id), method: http.MethodGet, path: trialPath(id) + "/logs", query: q.values()},
		fresh: func() *apiv1.TrialLogsResponse { return &apiv1.TrialLogsResponse{} },
		id:    (*apiv1.TrialLogsResponse).GetId,
		ended: func(ctx context.Context) (bool, error) {
			m, err := t.Trial(ctx, id)
			return m.GetEndTime() != nil, err
		},
	}
	lines := s.lines(ctx, q.Follow)
	if q.Tail > 0 {
		return reversed(lines)
	}
	return lines
}

// TrialMetrics returns the metrics that a trial reported in a group, by step.
func (t trials) TrialMetrics(ctx context.Context, id int32, group string) (all []*apiv1.MetricsReport, err error) {
	query := url.Values{"trialIds": {number(id)}, "group": {group}}
	s := &stream[*apiv1.GetMetricsResponse]{
		client: t.transport, call: call{op: "read the metrics of trial " + number(id), method: http.MethodGet, path: "/api/v1/trials/metrics/trial_metrics", query: query},
		fresh: func() *apiv1.GetMetricsResponse { return &apiv1.GetMetricsResponse{} },
		id:    func(*apiv1.GetMetricsResponse) string { return "" }, // not followed
	}
	for m, err := range s.lines(ctx, false) {
		if err != nil {
			return nil, err
		}
		all = append(all, m.GetMetrics()...)
	}
	return all, nil
}

// Workloads returns the metrics and checkpoints of a trial, by step.
func (t trials) Workloads(ctx context.Context, id int32) (all []*apiv1.WorkloadContainer, err error) {
	query := url.Values{}
	err = readPages(0, query, func() (int, *apiv1.Pagination, error) {
		out := &apiv1.GetTrialWorkloadsResponse{}
		err := t.do(ctx, call{op: "read the metrics of trial " + number(id), method: http.MethodGet, path: trialPath(id) + "/workloads", query: query, out: out})
		all = append(all, out.GetWorkloads()...)
		return len(all), out.GetPagination(), err
	})
	return all, err
}

func trialPath(id int32) string { return "/api/v1/trials/" + strconv.Itoa(int(id)) }
