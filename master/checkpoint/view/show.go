package view

import (
	"context"

	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/checkpoint"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/metric"
)

// page converts checkpoints to messages and caches data that several of them share.
type page struct {
	*Checkpoints

	settings map[int32]*settings
	trials   map[int32]*structpb.Struct
}

// settings are the settings of an experiment that are shown with its checkpoints.
type settings struct {
	config *structpb.Struct
	metric string
	// smallerIsBetter determines which checkpoint is the best.
	smallerIsBetter bool
}

func (v *Checkpoints) newPage() *page {
	return &page{Checkpoints: v, settings: map[int32]*settings{}, trials: map[int32]*structpb.Struct{}}
}

// settingsOf returns the cached settings of an experiment.
func (p *page) settingsOf(ctx context.Context, experiment int32) (*settings, error) {
	if s, found := p.settings[experiment]; found {
		return s, nil
	}
	x, err := checkpoint.ConfigOf(ctx, p.cfg.Store, experiment)
	if err != nil {
		return nil, err
	}
	cfg, err := toStruct(x.Show())
	if err != nil {
		return nil, err
	}
	s := &settings{config: cfg, smallerIsBetter: x.Searcher.SmallerIsBetter == nil || *x.Searcher.SmallerIsBetter}
	if x.Searcher.Metric != nil {
		s.metric = *x.Searcher.Metric
	}
	p.settings[experiment] = s
	return s, nil
}

// hparamsOf returns the cached hyperparameters of a trial.
func (p *page) hparamsOf(ctx context.Context, trial int32) (*structpb.Struct, error) {
	if h, found := p.trials[trial]; found {
		return h, nil
	}
	d, _, err := record.Docs().Trials.Get(ctx, p.cfg.Store, record.Key(trial))
	if err != nil {
		return nil, err
	}
	h, err := d.Value.ShowHparams(ctx, p.cfg.Store)
	p.trials[trial] = h
	return h, err
}

// show returns a checkpoint as a message with all its fields.
func (p *page) show(ctx context.Context, rec checkpoint.Record) (*apiv1.Checkpoint, error) {
	metadata, err := toStruct(rec.Metadata)
	if err != nil {
		return nil, err
	}
	m := &apiv1.Checkpoint{
		Uuid: rec.UUID, ReportTime: toTime(rec.Reported), Resources: rec.Resources, Metadata: metadata, State: stateOf(rec.State),
		TaskId: nonEmpty(rec.Task), AllocationId: nonEmpty(rec.Allocation),
	}
	if rec.Storage != 0 {
		m.StorageId = &rec.Storage
	}
	if m.Training, err = p.showTraining(ctx, rec); err != nil {
		return nil, err
	}
	if rec.State == checkpoint.Deleting {
		m.Deletion, err = p.showDeletion(ctx, rec.Deletion)
	}
	return m, err
}

// stateOf converts a state for clients. The API has no state for a deletion in progress.
func stateOf(s checkpoint.State) apiv1.Checkpoint_State {
	if s == checkpoint.Deleting {
		return apiv1.Checkpoint_STATE_ACTIVE
	}
	return apiv1.Checkpoint_State(apiv1.Checkpoint_State_value["STATE_"+string(s)])
}

func nonEmpty(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func (p *page) showTraining(ctx context.Context, rec checkpoint.Record) (*apiv1.CheckpointTrainingMetadata, error) {
	s, err := p.settingsOf(ctx, rec.Experiment)
	if err != nil {
		return nil, err
	}
	hparams, err := p.hparamsOf(ctx, rec.Trial)
	if err != nil {
		return nil, err
	}
	m := &apiv1.CheckpointTrainingMetadata{
		TrialId: wrapperspb.Int32(rec.Trial), ExperimentId: wrapperspb.Int32(rec.Experiment), ExperimentConfig: s.config, Hparams: hparams,
	}
	if m.TrainingMetrics, err = p.metricsAt(ctx, rec, metric.Training); err != nil {
		return nil, err
	}
	if m.ValidationMetrics, err = p.metricsAt(ctx, rec, metric.Validation); err != nil {
		return nil, err
	}
	value, err := p.searcherMetric(ctx, rec, s.metric)
	if value != nil {
		m.SearcherMetric = wrapperspb.Double(*value)
	}
	return m, err
}

// metricsAt returns the metrics that were reported at a checkpoint's steps.
func (p *page) metricsAt(ctx context.Context, rec checkpoint.Record, group string) (*apiv1.Metrics, error) {
	report, _, err := metric.At(ctx, p.cfg.Store, int64(rec.Trial), group, int64(rec.Steps))
	if err != nil {
		return nil, err
	}
	averages, err := toStruct(report.Values.Averages)
	return &apiv1.Metrics{AvgMetrics: averages}, err
}

// searcherMetric returns a metric of the validation at a checkpoint's steps, or nil if it was not
// reported.
func (p *page) searcherMetric(ctx context.Context, rec checkpoint.Record, name string) (*float64, error) {
	report, _, err := metric.At(ctx, p.cfg.Store, int64(rec.Trial), metric.Validation, int64(rec.Steps))
	if err != nil {
		return nil, err
	}
	if n, ok := metric.Number(report.Values.Averages[name]); ok {
		return &n, nil
	}
	return nil, nil //nolint:nilnil // nil means no metric
}

func (p *page) showDeletion(ctx context.Context, id string) (*apiv1.CheckpointDeletion, error) {
	d, found, err := checkpoint.DeletionOf(ctx, p.cfg.Store, id)
	if err != nil || !found {
		return nil, err
	}
	return d.Show(), nil
}
