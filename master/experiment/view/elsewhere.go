package view

import (
	"context"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/experiment"
	"github.com/det-deploy/det-deploy/master/experiment/lifecycle"
	"github.com/det-deploy/det-deploy/master/experiment/record"
)

// CreateTrial creates an unmanaged trial. The external ID may be empty.
func (t *Trials) CreateTrial(ctx context.Context, by *apiv1.User, externalID string, r *apiv1.CreateTrialRequest) (*apiv1.Trial, error) {
	if !r.GetUnmanaged() {
		return nil, status.New(status.InvalidArgument, "unmanaged: must be set, because trials of the cluster are created by the experiment's searcher")
	}
	v, err := t.cfg.Experiments.CreateTrial(ctx, experiment.TrialOrder{
		By: by, Experiment: r.GetExperimentId(), ExternalID: externalID, Hparams: r.GetHparams().AsMap(),
	})
	if err != nil {
		return nil, err
	}
	return t.show(ctx, v)
}

// StartTrial starts a run of an unmanaged trial.
func (t *Trials) StartTrial(ctx context.Context, by *apiv1.User, trial int32, resume bool) (*apiv1.StartTrialResponse, error) {
	b, err := t.cfg.Experiments.StartTrial(ctx, by, trial, resume)
	if err != nil {
		return nil, err
	}
	out := &apiv1.StartTrialResponse{TrialRunId: int32(b.Run), StepsCompleted: b.Steps}
	if b.Checkpoint != "" {
		out.LatestCheckpoint = &b.Checkpoint
	}
	return out, nil
}

// PatchTrial records a heartbeat of an unmanaged trial or, if state is terminal, its end.
func (t *Trials) PatchTrial(ctx context.Context, by *apiv1.User, trial int32, state *apiv1.Trial_State) (*apiv1.Trial, error) {
	ends := map[apiv1.Trial_State]lifecycle.Cause{
		apiv1.Trial_STATE_COMPLETED: lifecycle.Exited, apiv1.Trial_STATE_ERROR: lifecycle.Failed, apiv1.Trial_STATE_CANCELED: lifecycle.Killed,
	}
	var err error
	cause, ended := lifecycle.Cause(""), false
	if state != nil {
		cause, ended = ends[*state]
	}
	switch {
	case ended:
		err = t.cfg.Experiments.EndTrial(ctx, by, trial, cause)
	case state == nil, *state == apiv1.Trial_STATE_RUNNING, *state == apiv1.Trial_STATE_ACTIVE:
		err = t.cfg.Experiments.Heartbeat(ctx, trial)
	default:
		err = status.New(status.InvalidArgument, "state: must be STATE_RUNNING, STATE_COMPLETED, STATE_ERROR or STATE_CANCELED (%s)", *state)
	}
	if err != nil {
		return nil, err
	}
	return t.Trial(ctx, trial)
}

// ReportUse records that a trial uses a checkpoint.
func (t *Trials) ReportUse(ctx context.Context, r *apiv1.TrialSourceInfo) error {
	if r.GetTrialSourceInfoType() == apiv1.TrialSourceInfoType_TRIAL_SOURCE_INFO_TYPE_UNSPECIFIED {
		return status.New(status.InvalidArgument, "trial_source_info_type: must be TRIAL_SOURCE_INFO_TYPE_INFERENCE or TRIAL_SOURCE_INFO_TYPE_FINE_TUNING")
	}
	return t.cfg.Experiments.ReportUse(ctx, r.GetTrialId(), record.Use{
		Checkpoint: r.GetCheckpointUuid(), How: r.GetTrialSourceInfoType().String(), Model: r.GetModelId(), Version: r.GetModelVersion(),
	})
}

// Using returns the IDs of the trials that use a checkpoint. The type and the model version of the
// query are optional filters.
func (t *Trials) Using(ctx context.Context, q *apiv1.TrialSourceInfo) ([]int32, error) {
	return t.cfg.Experiments.Using(ctx, q.GetCheckpointUuid(), func(u record.Use) bool {
		how := q.GetTrialSourceInfoType()
		return (how == apiv1.TrialSourceInfoType_TRIAL_SOURCE_INFO_TYPE_UNSPECIFIED || how.String() == u.How) &&
			(q.ModelId == nil || q.GetModelId() == u.Model) && (q.ModelVersion == nil || q.GetModelVersion() == u.Version)
	})
}
