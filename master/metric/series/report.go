package series

import (
	"context"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/metric"
)

// Report stores the metrics of one step that a program reports. It returns after they are stored
// with the decision of the search. It is idempotent.
func (s *Series) Report(ctx context.Context, trial int32, group string, in *apiv1.TrialMetrics) error {
	if in == nil {
		return status.New(status.InvalidArgument, "metrics: is required")
	}
	if in.GetTrialRunId() < 0 {
		return status.New(status.InvalidArgument, "metrics.trialRunId: must be the number of the reporting run, or 0 for the current one (%d)", in.GetTrialRunId())
	}
	r := metric.Report{
		Trial: int64(trial), Run: int64(in.GetTrialRunId()), Group: group, Steps: int64(in.GetStepsCompleted()),
		At: s.cfg.Now(), Values: readValues(in.GetMetrics()),
	}
	if in.GetReportTime() != nil {
		if err := in.GetReportTime().CheckValid(); err != nil {
			return status.New(status.InvalidArgument, "metrics.reportTime: must be a time: %v", err)
		}
		r.At = in.GetReportTime().AsTime()
	}
	if in.StepsCompleted == nil && metric.IsProfiling(group) {
		r.Steps = r.At.UnixMicro()
	}
	return s.cfg.Experiments.Report(ctx, r)
}

func readValues(m *apiv1.Metrics) metric.Values {
	v := metric.Values{Averages: m.GetAvgMetrics().AsMap()}
	for _, b := range m.GetBatchMetrics() {
		v.Batches = append(v.Batches, b.AsMap())
	}
	return v
}
