package view

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/det-deploy/det-deploy/master/checkpoint"
)

// ReportProgress takes in how much of a trial is done.
func (t *Trials) ReportProgress(ctx context.Context, trial int32, done float64) error {
	return t.cfg.Experiments.ReportProgress(ctx, trial, done)
}

// ReportInvalid takes in that hyperparameters are impossible.
func (t *Trials) ReportInvalid(ctx context.Context, trial int32) error {
	return t.cfg.Experiments.ReportInvalid(ctx, trial)
}

// SetRunnerState takes in what a program is doing.
func (t *Trials) SetRunnerState(ctx context.Context, trial int32, state string) error {
	return t.cfg.Experiments.SetRunnerState(ctx, trial, state)
}

// StartRun takes in that a run begins to report, and numbers the storage of its checkpoints.
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

// Metadata is what a program keeps of itself.
func (t *Trials) Metadata(ctx context.Context, trial int32) (*structpb.Struct, error) {
	all, err := t.cfg.Experiments.Metadata(ctx, trial)
	if err != nil {
		return nil, err
	}
	return toStruct(all)
}

// SetMetadata replaces it and answers it.
func (t *Trials) SetMetadata(ctx context.Context, trial int32, more *structpb.Struct) (*structpb.Struct, error) {
	all, err := t.cfg.Experiments.SetMetadata(ctx, trial, more.AsMap())
	if err != nil {
		return nil, err
	}
	return toStruct(all)
}

// RemainingLogDays is how many days the logs of a trial are kept from now on, nil for ever.
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
