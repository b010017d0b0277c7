package view

import (
	"context"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/checkpoint"
	"github.com/det-deploy/det-deploy/master/experiment/record"
)

// CheckReader returns an error if the caller may not read a checkpoint.
func (v *Checkpoints) CheckReader(ctx context.Context, by Caller, uuid string) error {
	rec, found, err := checkpoint.Get(ctx, v.cfg.Store, uuid)
	switch {
	case err != nil:
		return err
	case !found:
		return checkpoint.NotFound(uuid)
	case by.Task == "":
		return checkpoint.CheckReader(ctx, v.cfg.Store, by.User, rec)
	}
	return v.checkTask(ctx, by, rec)
}

// checkTask returns an error if a task may not read a checkpoint. A task may read the checkpoints of
// its experiment, the one from which its trial started, and those of its user. It never has
// administrator rights.
func (v *Checkpoints) checkTask(ctx context.Context, by Caller, rec checkpoint.Record) error {
	trial, found, err := v.tasks.trialOf(ctx, by.Task)
	if err != nil || found && trial.experiment == rec.Experiment {
		return err
	}
	if found {
		d, _, err := record.Docs().Trials.Get(ctx, v.cfg.Store, record.Key(trial.id))
		if err != nil || d.Value.Life.WarmStart == rec.UUID {
			return err
		}
	}
	return checkpoint.CheckReader(ctx, v.cfg.Store, &apiv1.User{Id: by.User.GetId()}, rec)
}

// HideContent removes the metadata and the files from m, and what may be secret from its configuration, unless
// the user may read them.
func (v *Checkpoints) HideContent(ctx context.Context, by *apiv1.User, m *apiv1.Checkpoint) error {
	rec := checkpoint.Record{UUID: m.GetUuid(), Experiment: m.GetTraining().GetExperimentId().GetValue()}
	err := checkpoint.CheckReader(ctx, v.cfg.Store, by, rec)
	if status.Of(err) != status.PermissionDenied {
		return err
	}
	m.Metadata, m.Resources = &structpb.Struct{}, nil
	if t := m.GetTraining(); t != nil {
		t.ExperimentConfig = WithoutSecrets(t.ExperimentConfig)
	}
	return nil
}

// WithoutSecrets returns an experiment's configuration without its environment variables and its pod spec, in
// which people write passwords. It does not modify cfg.
func WithoutSecrets(cfg *structpb.Struct) *structpb.Struct {
	out := proto.CloneOf(cfg)
	environment := out.GetFields()["environment"].GetStructValue().GetFields()
	delete(environment, "environment_variables")
	delete(environment, "pod_spec")
	return out
}
