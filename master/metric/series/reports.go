package series

import (
	"context"
	"slices"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/metric"
)

const (
	// reportsEach is the number of reports in one message.
	reportsEach = 100
	// mostTrials limits the trials of one request.
	mostTrials = 10_000
)

// Reports sends all reports of a group for each trial in turn, in the order of their steps.
func (s *Series) Reports(ctx context.Context, trials []int32, group string, send func(*apiv1.GetMetricsResponse) error) error {
	if group == "" {
		return status.New(status.InvalidArgument, "group: is required, such as training or validation")
	}
	if len(trials) == 0 || len(trials) > mostTrials {
		return status.New(status.InvalidArgument, "trialIds: must be 1 to %d trials (%d)", mostTrials, len(trials))
	}
	trials = slices.Compact(slices.Sorted(slices.Values(trials)))
	for _, id := range trials {
		if _, err := s.cfg.Experiments.Trial(ctx, id); err != nil {
			return err
		}
	}
	out := &apiv1.GetMetricsResponse{}
	count := int32(0)
	for _, id := range trials {
		for r, err := range metric.Read(ctx, s.cfg.Store, int64(id), group, -1) {
			if err != nil {
				return err
			}
			count++
			shown, err := ShowReport(r, count)
			if err != nil {
				return err
			}
			if out.Metrics = append(out.Metrics, shown); len(out.Metrics) < reportsEach {
				continue
			}
			if err := send(out); err != nil {
				return err
			}
			out = &apiv1.GetMetricsResponse{}
		}
	}
	if len(out.GetMetrics()) > 0 {
		return send(out)
	}
	return nil
}

// mostReports limits the result of All.
const mostReports = 100_000

// All returns all reports of a group, or of all groups if group is empty, in the order of their
// steps. Trials that no longer exist are skipped. It returns FailedPrecondition if there are more
// than mostReports reports.
func (s *Series) All(ctx context.Context, trials []int32, group string) ([]*apiv1.MetricsReport, error) {
	var out []*apiv1.MetricsReport
	for _, id := range trials {
		groups := []string{group}
		if group == "" {
			var err error
			if groups, err = metric.Groups(ctx, s.cfg.Store, int64(id)); err != nil {
				return nil, err
			}
		}
		for _, g := range groups {
			for r, err := range metric.Read(ctx, s.cfg.Store, int64(id), g, -1) {
				if err != nil {
					return nil, err
				}
				if len(out) == mostReports {
					return nil, status.New(status.FailedPrecondition, "there are more than %d reports; request those of one group, or of one trial at a time with trials/metrics/trial_metrics", mostReports)
				}
				shown, err := ShowReport(r, int32(len(out)+1)) //nolint:gosec // it is bounded
				if err != nil {
					return nil, err
				}
				out = append(out, shown)
			}
		}
	}
	return out, nil
}

// ShowReport returns a report as an API message. The number identifies the report within one
// response.
func ShowReport(r metric.Report, number int32) (*apiv1.MetricsReport, error) {
	averages, err := showValues(r.Values.Averages)
	if err != nil {
		return nil, err
	}
	key := "avg_metrics"
	if r.Group == metric.Validation {
		key = "validation_metrics"
	}
	shown := &apiv1.MetricsReport{
		TrialId: int32(r.Trial), TrialRunId: int32(r.Run), Group: r.Group, EndTime: showTime(r.At), Id: number,
		Metrics: &structpb.Struct{Fields: map[string]*structpb.Value{key: structpb.NewStructValue(averages)}},
	}
	if !metric.IsProfiling(r.Group) {
		shown.TotalBatches = int32(r.Steps)
	}
	if len(r.Values.Batches) > 0 {
		batches := &structpb.ListValue{}
		for _, b := range r.Values.Batches {
			one, err := showValues(b)
			if err != nil {
				return nil, err
			}
			batches.Values = append(batches.Values, structpb.NewStructValue(one))
		}
		shown.Metrics.Fields["batch_metrics"] = structpb.NewListValue(batches)
	}
	return shown, nil
}
