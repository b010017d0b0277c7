package view

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/wrapperspb"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/checkpoint"
	"github.com/det-deploy/det-deploy/master/experiment"
	"github.com/det-deploy/det-deploy/master/experiment/lifecycle"
)

// Experiments implements the API of experiments.
type Experiments struct{ cfg Config }

// Experiment returns an experiment with all its fields.
func (e *Experiments) Experiment(ctx context.Context, id int32) (*apiv1.GetExperimentResponse, error) {
	v, err := e.cfg.Experiments.Get(id)
	if err != nil {
		return nil, err
	}
	x, err := e.showWhole(ctx, v)
	if err != nil {
		return nil, err
	}
	out := &apiv1.GetExperimentResponse{Experiment: x, Config: x.GetConfig(), Failure: v.Failure}
	if v.State != lifecycle.Deleting && v.State != lifecycle.DeleteFailed {
		return out, nil
	}
	waiting, err := checkpoint.DeletionsOf(ctx, e.cfg.Store, id)
	for _, d := range waiting {
		out.Deletions = append(out.Deletions, d.Show())
	}
	return out, err
}

// TellingTrial returns the trial that explains the state of an experiment, with its task: the first of a
// waiting experiment that waits, or the last of a failed one that failed. It returns 0 for others.
func (e *Experiments) TellingTrial(ctx context.Context, id int32) (trial int32, task string, err error) {
	v, err := e.cfg.Experiments.Get(id)
	waits, failed := v.Shown == string(lifecycle.Queued), v.State == lifecycle.Error
	if err != nil || !waits && !failed {
		return 0, "", err
	}
	all, err := e.cfg.Experiments.Trials(ctx, id)
	if failed {
		slices.Reverse(all)
	}
	for _, t := range all {
		if t.Shown == v.Shown && t.Task() != "" {
			return t.ID, t.Task(), nil
		}
	}
	return 0, "", err
}

// Owner returns the ID of the user who created an experiment.
func (e *Experiments) Owner(id int32) (int32, error) {
	v, err := e.cfg.Experiments.Get(id)
	return v.UserID, err
}

// ProjectOf returns the ID of the project of an experiment.
func (e *Experiments) ProjectOf(id int32) (int32, error) {
	v, err := e.cfg.Experiments.Get(id)
	return v.ProjectID, err
}

// CheckReader returns an error if the user may not read the content of an experiment.
func (e *Experiments) CheckReader(by *apiv1.User, id int32, content string) error {
	v, err := e.cfg.Experiments.Get(id)
	if err != nil {
		return err
	}
	return v.CheckReader(by, content)
}

// BestMetric returns the best value of the searcher's metric, or nil before the first validation.
func (e *Experiments) BestMetric(id int32) (*float64, error) {
	v, err := e.cfg.Experiments.Get(id)
	if err != nil || v.Best == nil {
		return nil, err
	}
	return new(float64(v.Best.Metric)), nil
}

// showWhole returns an experiment with the fields that lists omit: its configuration, trials and
// checkpoints.
func (e *Experiments) showWhole(ctx context.Context, v experiment.View) (*apiv1.Experiment, error) {
	x, err := e.showConfigured(ctx, v)
	if err != nil {
		return nil, err
	}
	if x.TrialIds, err = e.cfg.Experiments.TrialIDs(ctx, v.ID); err != nil {
		return nil, err
	}
	x.CheckpointCount, x.CheckpointSize, err = e.countCheckpoints(ctx, x.TrialIds)
	return x, err
}

// showConfigured returns an experiment with its configuration.
func (e *Experiments) showConfigured(ctx context.Context, v experiment.View) (*apiv1.Experiment, error) {
	x := e.show(v)
	s, err := e.cfg.Experiments.Settings(ctx, v.ID)
	if err != nil {
		return nil, err
	}
	if x.Config, err = toStruct(s.Config); err != nil {
		return nil, err
	}
	x.OriginalConfig = s.Original
	x.Hyperparameters = x.GetConfig().GetFields()["hyperparameters"].GetStructValue()
	return x, nil
}

// show returns an experiment without its configuration.
func (e *Experiments) show(v experiment.View) *apiv1.Experiment {
	x := &apiv1.Experiment{
		Id: v.ID, Name: v.Name, Description: v.Description, Notes: v.Notes, Labels: v.Labels,
		State:     apiv1.Experiment_State(apiv1.Experiment_State_value["STATE_"+v.Shown]),
		StartTime: toTime(v.Started), EndTime: toTime(v.Ended), Duration: new(int32(e.cfg.endOr(v).Sub(v.Started).Seconds())),
		Archived: v.Archived, NumTrials: int32(v.Trials), UserId: v.UserID, Username: v.Username, DisplayName: v.Username,
		ResourcePool: v.Queue.Pool, SearcherType: v.Searcher.Name, SearcherMetric: v.Searcher.Metric, JobId: v.JobID,
		Progress: wrapperspb.Double(v.Progress), Unmanaged: v.Unmanaged, ModelDefinitionSize: new(int32(min(v.ModelBytes, math.MaxInt32))),
	}
	if u, err := e.cfg.Users.User(v.UserID); err == nil {
		x.Username, x.DisplayName = u.GetUsername(), cmp.Or(u.GetDisplayName(), u.GetUsername())
	}
	if v.ForkedFrom != 0 {
		x.ForkedFrom = wrapperspb.Int32(v.ForkedFrom)
	}
	if v.ExternalID != "" {
		x.ExternalExperimentId = new(v.ExternalID)
	}
	x.Status, x.Reason = new(string(apiv1.StatusOf(v.Shown))), orNil(cmp.Or(v.Failure, v.EndReason))
	x.KilledBy = orNil(v.EndedBy)
	if v.Best != nil {
		x.BestTrialId, x.BestTrialSearcherMetric = new(v.Best.Trial), wrapperspb.Double(float64(v.Best.Metric))
	}
	e.showPlace(x, v.ProjectID)
	return x
}

// orNil returns a pointer to a text, or nil if it is empty.
func orNil(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// endOr returns the end of an experiment, or the current time if it has not ended.
func (c Config) endOr(v experiment.View) time.Time {
	if v.Ended.IsZero() {
		return c.Now()
	}
	return v.Ended
}

// showPlace sets the names of the project and the workspace. If the project was deleted, only its ID
// is set.
func (e *Experiments) showPlace(x *apiv1.Experiment, project int32) {
	x.ProjectId = project
	p, err := e.cfg.Places.Project(project)
	if err != nil {
		return
	}
	x.ProjectName, x.ProjectOwnerId, x.WorkspaceId, x.ParentArchived = p.Name, p.UserID, p.WorkspaceID, p.Archived
	if w, err := e.cfg.Places.Workspace(p.WorkspaceID); err == nil {
		x.WorkspaceName = w.Name
	}
}
