package view

import (
	"context"
	"io"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/experiment"
)

// Create creates an experiment, or only validates the request.
func (e *Experiments) Create(ctx context.Context, by *apiv1.User, r *apiv1.CreateExperimentRequest,
	contents func(file int) (io.Reader, int64),
) (*apiv1.CreateExperimentResponse, error) {
	return e.create(ctx, by, "", r, contents)
}

func (e *Experiments) create(ctx context.Context, by *apiv1.User, externalID string, r *apiv1.CreateExperimentRequest,
	contents func(file int) (io.Reader, int64),
) (*apiv1.CreateExperimentResponse, error) {
	if r.GetConfig() == "" && r.GetParentId() == 0 {
		return nil, status.New(status.InvalidArgument, "config: is required: the experiment configuration as YAML")
	}
	if r.GetContextId() != "" && len(r.GetModelDefinition()) > 0 {
		return nil, status.New(status.InvalidArgument, "context_id: cannot be combined with model_definition; send either")
	}
	made, err := e.cfg.Experiments.Create(ctx, experiment.Order{
		By: by, Config: r.GetConfig(), Template: r.GetTemplate(), Project: r.GetProjectId(), Parent: r.GetParentId(),
		Activate: r.GetActivate(), ValidateOnly: r.GetValidateOnly(), Files: r.GetModelDefinition(), Contents: contents, Context: r.GetContextId(),
		Unmanaged: r.GetUnmanaged(), ExternalID: externalID,
	})
	if err != nil {
		return nil, err
	}
	x := e.show(made.View)
	if x.Config, err = toStruct(made.Settings.Config); err != nil {
		return nil, err
	}
	x.OriginalConfig = made.Settings.Original
	x.Hyperparameters = x.GetConfig().GetFields()["hyperparameters"].GetStructValue()
	return &apiv1.CreateExperimentResponse{
		Experiment: x, Config: x.GetConfig(), Warnings: launchWarnings(made.View), ConfigWarnings: made.Warnings,
	}, nil
}

// Put creates an unmanaged experiment with an external ID, or returns the existing one.
func (e *Experiments) Put(ctx context.Context, by *apiv1.User, externalID string, r *apiv1.CreateExperimentRequest,
	contents func(file int) (io.Reader, int64),
) (*apiv1.PutExperimentResponse, error) {
	if externalID == "" || !r.GetUnmanaged() {
		return nil, status.New(status.InvalidArgument, "unmanaged: must be set, because only unmanaged experiments have external IDs")
	}
	out, err := e.create(ctx, by, externalID, r, contents)
	return &apiv1.PutExperimentResponse{Experiment: out.GetExperiment(), Config: out.GetConfig()}, err
}

// Continue runs an experiment again.
func (e *Experiments) Continue(ctx context.Context, by *apiv1.User, r *apiv1.ContinueExperimentRequest) (*apiv1.ContinueExperimentResponse, error) {
	v, err := e.cfg.Experiments.Continue(ctx, experiment.Continuation{By: by, ID: r.GetId(), Override: r.GetOverrideConfig()})
	if err != nil {
		return nil, err
	}
	x, err := e.showWhole(ctx, v)
	return &apiv1.ContinueExperimentResponse{Experiment: x, Warnings: launchWarnings(v)}, err
}

func launchWarnings(v experiment.View) []apiv1.LaunchWarning {
	if v.Exceeds {
		return []apiv1.LaunchWarning{apiv1.LaunchWarning_LAUNCH_WARNING_CURRENT_SLOTS_EXCEEDED}
	}
	return nil
}
