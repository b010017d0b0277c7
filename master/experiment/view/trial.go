package view

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/experiment"
	"github.com/det-deploy/det-deploy/master/experiment/lifecycle"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/metric"
)

// Trials implements the API of trials.
type Trials struct{ cfg Config }

// Trial returns a trial with all its fields.
func (t *Trials) Trial(ctx context.Context, id int32) (*apiv1.Trial, error) {
	v, err := t.cfg.Experiments.Trial(ctx, id)
	if err != nil {
		return nil, err
	}
	m, err := t.show(ctx, v)
	if err != nil {
		return nil, err
	}
	kept, err := t.cfg.Experiments.Metadata(ctx, id)
	if err == nil && len(kept) > 0 {
		m.Metadata, err = toStruct(kept)
	}
	return m, err
}

// TrialTasks returns the owner and the tasks of a trial.
func (t *Trials) TrialTasks(ctx context.Context, id int32) (record.TrialTasks, error) {
	return t.cfg.Experiments.TrialTasks(ctx, id)
}

// Named returns at most limit trials whose ID, task or name EXPERIMENT.N begins with text, or the latest ones
// without text.
func (t *Trials) Named(ctx context.Context, text string, limit int) ([]*apiv1.Name, error) {
	list, err := t.cfg.Experiments.TrialsNamed(ctx, text, limit)
	out := make([]*apiv1.Name, 0, len(list))
	for _, v := range list {
		out = append(out, &apiv1.Name{
			Id: strconv.Itoa(int(v.ID)), Name: fmt.Sprintf("%d.%d", v.Experiment, v.Position), Username: v.Username,
			State: string(trialStatus(v.TrialView)), TaskId: orNil(taskNamed(v.Trial, text)),
		})
	}
	return out, err
}

// taskNamed returns the task of a trial with this ID, or else the current one.
func taskNamed(t record.Trial, id string) string {
	if slices.Contains(t.Tasks, id) {
		return id
	}
	return t.Task()
}

// List returns the requested page of an experiment's trials. A page that exceeds pageBytes, because
// its trials have many hyperparameters and metrics, ends early; clients request the next page from
// its end.
func (t *Trials) List(ctx context.Context, r *apiv1.GetExperimentTrialsRequest) (*apiv1.GetExperimentTrialsResponse, error) {
	x, err := t.cfg.Experiments.Get(r.GetExperimentId())
	if err != nil {
		return nil, err
	}
	out := &apiv1.GetExperimentTrialsResponse{}
	list, err := t.cfg.Experiments.TrialPage(ctx, r.GetExperimentId(), experiment.TrialQuery{
		Choose: chooseTrials(r, t.cfg.Now()), Descending: r.GetDescending(),
		Cut: func(total int) (from, to int) {
			from, to, out.Pagination = cutPage(total, r.GetOffset(), r.GetLimit())
			return from, to
		},
	})
	if err != nil {
		return nil, err
	}
	out.Trials = make([]*apiv1.Trial, 0, min(len(list), 1000))
	size := 0
	for _, v := range list {
		m, err := t.show(ctx, v)
		if err != nil {
			return nil, err
		}
		m.LogRetentionDays = orDays(m.LogRetentionDays, x.LogDays)
		out.Trials = append(out.Trials, m)
		if size += proto.Size(m); size > pageBytes {
			out.Pagination.EndIndex = out.GetPagination().GetStartIndex() + int32(len(out.GetTrials())) //nolint:gosec // it is at most the end of the page
			break
		}
	}
	return out, nil
}

// chooseTrials returns a function that filters and sorts the trials, or nil if the request selects
// all trials in the order of their IDs.
func chooseTrials(r *apiv1.GetExperimentTrialsRequest, now time.Time) func([]experiment.TrialView) []experiment.TrialView {
	order := trialOrder(r.GetSortBy(), r.GetDescending(), now)
	if order == nil && len(r.GetStates()) == 0 {
		return nil
	}
	return func(all []experiment.TrialView) []experiment.TrialView {
		list := filterTrials(all, r.GetStates())
		switch {
		case order != nil:
			sortBy(list, order, r.GetDescending())
		case r.GetDescending():
			slices.Reverse(list)
		}
		return list
	}
}

// filterTrials returns the trials whose displayed state is one of states. ACTIVE matches an active
// trial in any displayed state.
func filterTrials(all []experiment.TrialView, states []apiv1.Trial_State) []experiment.TrialView {
	if len(states) == 0 {
		return all
	}
	wanted := map[string]bool{}
	for _, s := range states {
		wanted[strings.TrimPrefix(s.String(), "STATE_")] = true
	}
	var list []experiment.TrialView
	for _, v := range all {
		if wanted[v.Shown] || wanted[string(v.Life.State)] {
			list = append(list, v)
		}
	}
	return list
}

// trialOrder returns nil if the trials are ordered by ID.
func trialOrder(key apiv1.GetExperimentTrialsRequest_SortBy, descending bool, now time.Time) order[experiment.TrialView] {
	type view = experiment.TrialView
	orders := map[apiv1.GetExperimentTrialsRequest_SortBy]order[view]{
		apiv1.GetExperimentTrialsRequest_SORT_BY_START_TIME:               func(a, b view) int { return a.Created.Compare(b.Created) },
		apiv1.GetExperimentTrialsRequest_SORT_BY_END_TIME:                 func(a, b view) int { return compareEnds(a.Ended, b.Ended) },
		apiv1.GetExperimentTrialsRequest_SORT_BY_STATE:                    by(func(v view) string { return v.Shown }),
		apiv1.GetExperimentTrialsRequest_SORT_BY_BEST_VALIDATION_METRIC:   by(func(v view) float64 { return metricOr(v.Best, descending) }),
		apiv1.GetExperimentTrialsRequest_SORT_BY_LATEST_VALIDATION_METRIC: by(func(v view) float64 { return metricOr(v.Latest, descending) }),
		apiv1.GetExperimentTrialsRequest_SORT_BY_BATCHES_PROCESSED:        by(func(v view) int32 { return v.Steps }),
		apiv1.GetExperimentTrialsRequest_SORT_BY_DURATION:                 by(func(v view) time.Duration { return trainedUntil(v.Trial, now) }),
		apiv1.GetExperimentTrialsRequest_SORT_BY_RESTARTS:                 by(func(v view) int { return v.Life.Restarts }),
	}
	return orders[key]
}

// trainedUntil returns the total duration of a trial's runs.
func trainedUntil(t record.Trial, now time.Time) time.Duration {
	if t.RunBegan.IsZero() {
		return t.Trained
	}
	return t.Trained + max(now.Sub(t.RunBegan), 0)
}

// show returns a trial with its validations and checkpoints.
func (t *Trials) show(ctx context.Context, v experiment.TrialView) (*apiv1.Trial, error) {
	m, err := t.showRecord(ctx, v)
	if err != nil {
		return nil, err
	}
	summary, err := t.cfg.Metrics.Summary(ctx, int64(v.ID))
	if err != nil {
		return nil, err
	}
	if m.SummaryMetrics, err = toStruct(summary.Shown()); err != nil {
		return nil, err
	}
	if m.LatestValidation, err = t.validation(ctx, v.ID, v.Latest); err != nil {
		return nil, err
	}
	if m.BestValidation, err = t.validation(ctx, v.ID, v.Best); err != nil {
		return nil, err
	}
	return m, t.showCheckpoints(ctx, m, v.Best)
}

// trialStatus returns the state of a trial in one word.
func trialStatus(v experiment.TrialView) apiv1.Status {
	if v.Stopped && !v.Full && v.Life.State == lifecycle.Completed {
		return apiv1.StatusStoppedEarly
	}
	return apiv1.StatusOf(v.Shown)
}

// showRecord returns the fields of a trial that its document contains.
func (t *Trials) showRecord(ctx context.Context, v experiment.TrialView) (*apiv1.Trial, error) {
	hparams, err := v.ShowHparams(ctx, t.cfg.Store)
	if err != nil {
		return nil, err
	}
	m := &apiv1.Trial{
		Id: v.ID, ExperimentId: v.Experiment, StartTime: toTime(v.Created), EndTime: toTime(v.Ended),
		State:    apiv1.Trial_State(apiv1.Trial_State_value["STATE_"+v.Shown]),
		Restarts: int32(v.Life.Restarts), Hparams: hparams, TotalBatchesProcessed: v.Steps, RunnerState: v.RunnerState,
		WallClockTime: wrapperspb.Double(trainedUntil(v.Trial, t.cfg.Now()).Seconds()),
		TaskId:        v.Task(), TaskIds: v.Tasks, Run: int32(v.Life.Run), Reason: v.Reason,
	}
	m.Status = new(string(trialStatus(v)))
	if v.Life.WarmStart != "" {
		m.WarmStartCheckpointUuid = wrapperspb.String(v.Life.WarmStart)
	}
	if v.Best != nil {
		m.SearcherMetricValue = wrapperspb.Double(float64(v.Best.Metric))
	}
	if v.Matched != nil {
		m.LogPolicyMatched = new(v.Matched.Policy)
	}
	if v.ExternalID != "" {
		m.ExternalId = new(v.ExternalID)
	}
	m.LogRetentionDays = orDays(nil, v.LogDays)
	return m, nil
}

func orDays(days *int32, otherwise *int) *int32 {
	if days == nil && otherwise != nil {
		return new(int32(*otherwise))
	}
	return days
}

// validation returns all metrics of a validation, or nil if at is nil.
func (t *Trials) validation(ctx context.Context, trial int32, at *record.Best) (*apiv1.MetricsWorkload, error) {
	if at == nil {
		return nil, nil
	}
	r, found, err := metric.At(ctx, t.cfg.Store, int64(trial), metric.Validation, int64(at.Steps))
	if err != nil || !found {
		return nil, err
	}
	return showReport(r, false)
}

// showReport returns a report of metrics. It includes metrics of single batches only if withBatches
// is true.
func showReport(r metric.Report, withBatches bool) (*apiv1.MetricsWorkload, error) {
	averages, err := toStruct(r.Values.Averages)
	if err != nil {
		return nil, err
	}
	w := &apiv1.MetricsWorkload{EndTime: toTime(r.At), TotalBatches: int32(r.Steps), Metrics: &apiv1.Metrics{AvgMetrics: averages}}
	if !withBatches {
		return w, nil
	}
	for _, b := range r.Values.Batches {
		batch, err := toStruct(b)
		if err != nil {
			return nil, err
		}
		w.Metrics.BatchMetrics = append(w.Metrics.BatchMetrics, batch)
	}
	return w, nil
}
