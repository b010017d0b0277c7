package server

import (
	"context"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/server/query"
)

// TrialMetrics stores and queries the metrics of trials. For missing objects, errors have the code
// NotFound.
type TrialMetrics interface {
	// Report stores the metrics of one step. It is idempotent.
	Report(ctx context.Context, trial int32, group string, m *apiv1.TrialMetrics) error
	// Reports sends all reports of a group.
	Reports(ctx context.Context, trials []int32, group string, send func(*apiv1.GetMetricsResponse) error) error
	// All returns the reports of a group, or of all groups, for trials that may have been deleted.
	All(ctx context.Context, trials []int32, group string) ([]*apiv1.MetricsReport, error)
	// ValidationHistory returns the validations that improved on all earlier ones.
	ValidationHistory(ctx context.Context, experiment int32) (*apiv1.GetExperimentValidationHistoryResponse, error)
	// Compare returns the curves of trials, each with its description from show.
	Compare(ctx context.Context, q *apiv1.CompareTrialsRequest, show func(ctx context.Context, id int32) (*apiv1.Trial, error)) (*apiv1.CompareTrialsResponse, error)

	// The following methods send updates until the experiments have ended.

	Names(ctx context.Context, q *apiv1.ExpMetricNamesRequest, send func(*apiv1.ExpMetricNamesResponse) error) error
	Batches(ctx context.Context, q *apiv1.MetricBatchesRequest, send func(*apiv1.MetricBatchesResponse) error) error
	Snapshot(ctx context.Context, q *apiv1.TrialsSnapshotRequest, send func(*apiv1.TrialsSnapshotResponse) error) error
	Sample(ctx context.Context, q *apiv1.TrialsSampleRequest, send func(*apiv1.TrialsSampleResponse) error) error
}

// metricsLimit exceeds the stored size limit of a step, so that most oversized reports get a descriptive
// error.
const metricsLimit = 8 << 20

// metricCalls serves the calls about metrics.
type metricCalls struct{ *shared }

func (m *metricCalls) routes() []route {
	if m.cfg.TrialMetrics == nil || m.cfg.Trials == nil {
		return nil
	}
	return []route{
		sizedCall(postRoute("trials/{trial}/metrics", either, unaryCall(m.report)), metricsLimit),
		sizedCall(postRoute("trials/{trial}/training_metrics", either, unaryCall(m.reportTraining)), metricsLimit),
		sizedCall(postRoute("trials/{trial}/validation_metrics", either, unaryCall(m.reportValidation)), metricsLimit),
		getRoute("trials/metrics/trial_metrics", user, streamCall(m.shared, m.reports)),
		getRoute("trials/metrics/training_metrics", user, streamCall(m.shared, m.groupReports("training"))),
		getRoute("trials/metrics/validation_metrics", user, streamCall(m.shared, m.groupReports("validation"))),
		getRoute("trials/time-series", user, plainCall(m.compare)),
		getRoute("experiments/{experiment}/validation-history", user, plainCall(m.validationHistory)),
		getRoute("experiments/metrics-stream/metric-names", user, streamCall(m.shared, m.names)),
		getRoute("experiments/{experiment}/metrics-stream/batches", user, streamCall(m.shared, m.batches)),
		getRoute("experiments/{experiment}/metrics-stream/trials-snapshot", user, streamCall(m.shared, m.snapshot)),
		getRoute("experiments/{experiment}/metrics-stream/trials-sample", user, streamCall(m.shared, m.sample)),
	}
}

func (m *metricCalls) report(c *call, in *apiv1.ReportTrialMetricsRequest) (*apiv1.ReportTrialMetricsResponse, error) {
	return m.reportGroup(c, in.GetGroup(), in.GetMetrics())
}

func (m *metricCalls) reportTraining(c *call, in *apiv1.TrialMetrics) (*apiv1.ReportTrialMetricsResponse, error) {
	return m.reportGroup(c, "training", in)
}

func (m *metricCalls) reportValidation(c *call, in *apiv1.TrialMetrics) (*apiv1.ReportTrialMetricsResponse, error) {
	return m.reportGroup(c, "validation", in)
}

func (m *metricCalls) reportGroup(c *call, group string, in *apiv1.TrialMetrics) (*apiv1.ReportTrialMetricsResponse, error) {
	id, err := c.trialID()
	switch {
	case err != nil:
		return nil, err
	case in.GetTrialId() != 0 && in.GetTrialId() != id:
		return nil, status.New(status.InvalidArgument, "metrics.trialId: must be the trial in the path, %d (is %d)", id, in.GetTrialId())
	}
	if err := m.checkReporter(c, id); err != nil {
		return nil, err
	}
	return &apiv1.ReportTrialMetricsResponse{}, m.cfg.TrialMetrics.Report(c.Context(), id, group, in)
}

func (m *metricCalls) reports(ctx context.Context, c *call, send func(*apiv1.GetMetricsResponse) error) error {
	return m.sendReports(ctx, c, c.query().Text("group"), send)
}

func (m *metricCalls) groupReports(group string) func(context.Context, *call, func(*apiv1.GetMetricsResponse) error) error {
	return func(ctx context.Context, c *call, send func(*apiv1.GetMetricsResponse) error) error {
		return m.sendReports(ctx, c, group, send)
	}
}

func (m *metricCalls) sendReports(ctx context.Context, c *call, group string, send func(*apiv1.GetMetricsResponse) error) error {
	params := c.query()
	trials := params.Numbers("trialIds")
	if params.Err() != nil {
		return params.Err()
	}
	return m.cfg.TrialMetrics.Reports(ctx, trials, group, send)
}

func (m *metricCalls) validationHistory(c *call) (*apiv1.GetExperimentValidationHistoryResponse, error) {
	id, err := c.experimentID()
	if err != nil {
		return nil, err
	}
	return m.cfg.TrialMetrics.ValidationHistory(c.Context(), id)
}

func (m *metricCalls) compare(c *call) (*apiv1.CompareTrialsResponse, error) {
	params := c.query()
	q := &apiv1.CompareTrialsRequest{
		TrialIds: params.Numbers("trialIds"), MetricNames: params.All("metricNames"), MetricIds: params.All("metricIds"),
		MetricType: query.Enum[apiv1.MetricType](params, "metricType"), Group: params.Text("group"), MaxDatapoints: int32(params.Number("maxDatapoints")),
		StartBatches: int32(params.Number("startBatches")), EndBatches: int32(params.Number("endBatches")),
	}
	if params.Text("timeSeriesFilter.name") != "" {
		params.Reject("timeSeriesFilter.name", "omitted; use startBatches and endBatches to select a part of the curves")
	}
	if params.Err() != nil {
		return nil, params.Err()
	}
	return m.cfg.TrialMetrics.Compare(c.Context(), q, m.cfg.Trials.Trial)
}

func (m *metricCalls) names(ctx context.Context, c *call, send func(*apiv1.ExpMetricNamesResponse) error) error {
	params := c.query()
	q := &apiv1.ExpMetricNamesRequest{Ids: params.Numbers("ids"), PeriodSeconds: int32(params.Number("periodSeconds"))}
	if params.Err() != nil {
		return params.Err()
	}
	return m.cfg.TrialMetrics.Names(ctx, q, send)
}

func (m *metricCalls) batches(ctx context.Context, c *call, send func(*apiv1.MetricBatchesResponse) error) error {
	params := c.query()
	id, err := c.experimentID()
	if err != nil {
		return err
	}
	q := &apiv1.MetricBatchesRequest{
		ExperimentId: id, MetricName: params.Text("metricName"), Group: params.Text("group"),
		MetricType: query.Enum[apiv1.MetricType](params, "metricType"), PeriodSeconds: int32(params.Number("periodSeconds")),
	}
	if params.Err() != nil {
		return params.Err()
	}
	return m.cfg.TrialMetrics.Batches(ctx, q, send)
}

func (m *metricCalls) snapshot(ctx context.Context, c *call, send func(*apiv1.TrialsSnapshotResponse) error) error {
	params := c.query()
	id, err := c.experimentID()
	if err != nil {
		return err
	}
	q := &apiv1.TrialsSnapshotRequest{
		ExperimentId: id, MetricName: params.Text("metricName"), Group: params.Text("group"),
		MetricType: query.Enum[apiv1.MetricType](params, "metricType"), PeriodSeconds: int32(params.Number("periodSeconds")),
		BatchesProcessed: int32(params.Number("batchesProcessed")), BatchesMargin: int32(params.Number("batchesMargin")),
	}
	if params.Err() != nil {
		return params.Err()
	}
	return m.cfg.TrialMetrics.Snapshot(ctx, q, send)
}

func (m *metricCalls) sample(ctx context.Context, c *call, send func(*apiv1.TrialsSampleResponse) error) error {
	params := c.query()
	id, err := c.experimentID()
	if err != nil {
		return err
	}
	q := &apiv1.TrialsSampleRequest{
		ExperimentId: id, MetricName: params.Text("metricName"), Group: params.Text("group"),
		MetricType: query.Enum[apiv1.MetricType](params, "metricType"), PeriodSeconds: int32(params.Number("periodSeconds")),
		MaxTrials: int32(params.Number("maxTrials")), MaxDatapoints: int32(params.Number("maxDatapoints")),
		StartBatches: int32(params.Number("startBatches")), EndBatches: int32(params.Number("endBatches")),
	}
	if params.Err() != nil {
		return params.Err()
	}
	return m.cfg.TrialMetrics.Sample(ctx, q, send)
}
