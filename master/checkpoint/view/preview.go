package view

import (
	"context"
	"time"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/checkpoint"
)

// Counts is the number of checkpoints to keep. Nil uses the experiment's configuration.
type Counts = checkpoint.Counts

// Preview lists the checkpoints that a policy would delete, in the JSON form of Determined 0.38.1.
type Preview struct {
	Checkpoints []PreviewRow `json:"checkpoints"`
	MetricName  string       `json:"metric_name"`
	// Kept lists the other checkpoints with the reasons for keeping them. Determined has no such
	// field.
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

// KeptRow is a checkpoint that would be kept.
type KeptRow struct {
	UUID    string   `json:"uuid"`
	TrialID int32    `json:"trial_id"`
	Why     []string `json:"why"`
}

// Preview returns the checkpoints of an experiment that a policy would delete now. It returns
// PermissionDenied if the user may not read the experiment's checkpoints.
func (v *Checkpoints) Preview(ctx context.Context, by *apiv1.User, experiment int32, counts Counts) (Preview, error) {
	if err := checkpoint.CheckReader(ctx, v.cfg.Store, by, checkpoint.Record{Experiment: experiment}); err != nil {
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
