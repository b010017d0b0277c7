package view

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/det-deploy/det-deploy/master/checkpoint"
)

// ReportProgress sets the progress of a trial.
func (t *Trials) ReportProgress(ctx context.Context, trial int32, done float64) error {
	return t.cfg.Experiments.ReportProgress(ctx, trial, done)
}

// ReportInvalid records that a program rejected its hyperparameters.
func (t *Trials) ReportInvalid(ctx context.Context, trial int32) error {
	return t.cfg.Experiments.ReportInvalid(ctx, trial)
}

// SetRunnerState sets the state that a program reports about itself.
func (t *Trials) SetRunnerState(ctx context.Context, trial int32, state string) error {
	return t.cfg.Experiments.SetRunnerState(ctx, trial, state)
}

// StartRun records that a run starts to report, and returns the ID of its checkpoint storage.
func (t *Trials) StartRun(ctx context.Context, trial int32, storage *structpb.Struct) (*int32, error) {
	v, err := t.cfg.Experiments.Trial(ctx, trial)
	if err != nil {
		return nil, err
	}
	id, err := checkpoint.RunStorage(ctx, t.cfg.Store, v.Experiment, storage.AsMap())
	if err != nil {
		return nil, err
	}
	if err := t.cfg.Experiments.StartRun(ctx, trial); err != nil || id == 0 {
		return nil, err
	}
	return &id, nil
}

// Metadata returns the metadata that a program stored for its trial.
func (t *Trials) Metadata(ctx context.Context, trial int32) (*structpb.Struct, error) {
	all, err := t.cfg.Experiments.Metadata(ctx, trial)
	if err != nil {
		return nil, err
	}
	return toStruct(all)
}

// SetMetadata replaces the metadata of a trial and returns it.
func (t *Trials) SetMetadata(ctx context.Context, trial int32, more *structpb.Struct) (*structpb.Struct, error) {
	all, err := t.cfg.Experiments.SetMetadata(ctx, trial, more.AsMap())
	if err != nil {
		return nil, err
	}
	return toStruct(all)
}

// RemainingLogDays returns the number of days for which the logs of a trial are still kept, or nil
// if they are kept forever.
func (t *Trials) RemainingLogDays(ctx context.Context, id int32) (*int32, error) {
	v, err := t.cfg.Experiments.Trial(ctx, id)
	if err != nil {
		return nil, err
	}
	x, err := t.cfg.Experiments.Get(v.Experiment)
	if err != nil {
		return nil, err
	}
	days := int32(t.cfg.LogDays)
	if d := orDays(orDays(nil, v.LogDays), x.LogDays); d != nil {
		days = *d
	}
	if days < 0 {
		return nil, nil
	}
	if v.Ended.IsZero() {
		return &days, nil
	}
	gone := int32(t.cfg.Now().Sub(v.Ended) / (24 * time.Hour))
	return new(max(days-gone, 0)), nil
}
