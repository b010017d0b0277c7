package view

import (
	"context"
	"fmt"
	"time"

	"github.com/det-deploy/det-deploy/master/api/status"
	"github.com/det-deploy/det-deploy/master/checkpoint"
	"github.com/det-deploy/det-deploy/master/experiment/record"
)

// Counts is how many checkpoints a policy keeps; nil is as the experiment's configuration says.
type Counts = checkpoint.Counts

// Preview is what a policy would delete, in the form of Determined 0.38.1.
type Preview struct {
	Checkpoints []PreviewRow `json:"checkpoints"`
	MetricName  string       `json:"metric_name"`
	// Kept says why the others stay; upstream has no such field.
	Kept []KeptRow `json:"kept"`
}

// PreviewRow is a checkpoint that would be deleted.
type PreviewRow struct {
	UUID              string
	TrialID           int32
	StepsCompleted    int32
	ReportTime        time.Time
	State             string
	ValidationMetrics map[string]any
	Resources         map[string]int64
}

// KeptRow is a checkpoint that would stay.
type KeptRow struct {
	UUID    string   `json:"uuid"`
	TrialID int32    `json:"trial_id"`
	Why     []string `json:"why"`
}

// Preview is what would be deleted of an experiment now.
func (v *Checkpoints) Preview(ctx context.Context, experiment int32, counts Counts) (Preview, error) {
	if _, found, err := record.Docs().Experiments.Get(ctx, v.cfg.Store, record.Key(experiment)); err != nil || !found {
		if err == nil {
			err = status.Missing("experiment", fmt.Sprint(experiment))
		}
		return Preview{}, err
	}
	plan, err := v.cfg.Checkpoints.Preview(ctx, experiment, counts)
	if err != nil {
		return Preview{}, err
	}
	p := Preview{MetricName: plan.Metric, Checkpoints: []PreviewRow{}, Kept: []KeptRow{}}
	for _, rec := range plan.Delete {
		p.Checkpoints = append(p.Checkpoints, PreviewRow{
			UUID: rec.UUID, TrialID: rec.Trial, StepsCompleted: rec.Steps, ReportTime: rec.Reported, State: string(rec.State),
			ValidationMetrics: plan.Validations[rec.UUID], Resources: rec.Resources,
		})
	}
	for _, rec := range plan.Keep {
		p.Kept = append(p.Kept, KeptRow{UUID: rec.UUID, TrialID: rec.Trial, Why: plan.Why[rec.UUID]})
	}
	return p, nil
}
