package server

import (
	"context"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/server/query"
)

// Uses is what trials do with checkpoints of others.
type Uses interface {
	// ReportUse takes in that a trial uses a checkpoint. It may be repeated.
	ReportUse(ctx context.Context, u *apiv1.TrialSourceInfo) error
	// Using is the trials that use a checkpoint; a type, or a model and version, leave out those that do otherwise.
	Using(ctx context.Context, q *apiv1.TrialSourceInfo) ([]int32, error)
}

// useCalls is what trials do with checkpoints of others, and what they measured of them.
type useCalls struct{ *shared }

func (u *useCalls) routes() []route {
	if u.cfg.Trials == nil || u.cfg.TrialMetrics == nil {
		return nil
	}
	list := []route{
		postRoute("trial-source-info", either, unaryCall(u.report)),
		getRoute("checkpoints/{checkpoint}/metrics", user, plainCall(u.ofCheckpoint)),
	}
	if u.cfg.Models == nil {
		return list
	}
	return append(list, getRoute("models/{model}/versions/{version}/metrics", user, plainCall(u.ofVersion)))
}

func (u *useCalls) report(c *call, in *apiv1.ReportTrialSourceInfoRequest) (*apiv1.ReportTrialSourceInfoResponse, error) {
	info := in.GetTrialSourceInfo()
	if err := u.checkReporter(c, info.GetTrialId()); err != nil {
		return nil, err
	}
	out := &apiv1.ReportTrialSourceInfoResponse{TrialId: info.GetTrialId(), CheckpointUuid: info.GetCheckpointUuid()}
	return out, u.cfg.Trials.ReportUse(c.Context(), info)
}

func (u *useCalls) ofCheckpoint(c *call) (*apiv1.GetTrialMetricsByCheckpointResponse, error) {
	m, err := u.cfg.Checkpoints.Checkpoint(c.Context(), c.PathValue("checkpoint"))
	if err != nil {
		return nil, err
	}
	all, err := u.measured(c, &apiv1.TrialSourceInfo{CheckpointUuid: m.GetUuid()})
	return &apiv1.GetTrialMetricsByCheckpointResponse{Metrics: all}, err
}

func (u *useCalls) ofVersion(c *call) (*apiv1.GetTrialMetricsByModelVersionResponse, error) {
	n, err := c.numberInPath("version")
	if err != nil {
		return nil, err
	}
	v, err := u.cfg.Models.Version(c.Context(), c.PathValue("model"), n)
	if err != nil {
		return nil, err
	}
	q := &apiv1.TrialSourceInfo{CheckpointUuid: v.GetCheckpoint().GetUuid(), ModelId: new(v.GetModel().GetId()), ModelVersion: &n}
	all, err := u.measured(c, q)
	return &apiv1.GetTrialMetricsByModelVersionResponse{Metrics: all}, err
}

// measured is what trials reported that use a checkpoint.
func (u *useCalls) measured(c *call, q *apiv1.TrialSourceInfo) ([]*apiv1.MetricsReport, error) {
	params := c.query()
	q.TrialSourceInfoType = query.Enum[apiv1.TrialSourceInfoType](params, "trialSourceInfoType")
	group := params.Text("metricGroup")
	if params.Err() != nil {
		return nil, params.Err()
	}
	trials, err := u.cfg.Trials.Using(c.Context(), q)
	if err != nil {
		return nil, err
	}
	return u.cfg.TrialMetrics.All(c.Context(), trials, group)
}
