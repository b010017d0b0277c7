package server

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/server/query"
)

// Trials manages the trials of experiments. For a missing trial, errors have the code NotFound. The caller
// owns the returned messages.
type Trials interface {
	List(ctx context.Context, r *apiv1.GetExperimentTrialsRequest) (*apiv1.GetExperimentTrialsResponse, error)
	Trial(ctx context.Context, id int32) (*apiv1.Trial, error)
	// Named returns at most limit trials whose ID, task or name EXPERIMENT.N begins with text, or the latest
	// ones without text.
	Named(ctx context.Context, text string, limit int) ([]*apiv1.Name, error)
	// TrialTasks returns the owner and the tasks of a trial.
	TrialTasks(ctx context.Context, id int32) (record.TrialTasks, error)
	Workloads(ctx context.Context, r *apiv1.GetTrialWorkloadsRequest) (*apiv1.GetTrialWorkloadsResponse, error)

	KillTrial(ctx context.Context, by *apiv1.User, id int32) error
	// RetainTrialLogs sets the retention of the logs in days; -1 keeps them forever.
	RetainTrialLogs(ctx context.Context, by *apiv1.User, id int32, days int32) error
	// RemainingLogDays returns the remaining days for which the logs are kept, or nil if they are kept
	// forever.
	RemainingLogDays(ctx context.Context, id int32) (*int32, error)

	TrialReports
	ElsewhereTrials
	Uses
}

// trialCalls serves the calls that describe and kill trials.
type trialCalls struct{ *shared }

func (t *trialCalls) routes() []route {
	if t.cfg.Trials == nil {
		return nil
	}
	return []route{
		getRoute("experiments/{experiment}/trials", user, plainCall(t.trials)),
		getRoute("trials/{trial}", either, plainCall(t.trial)),
		getRoute("trials/{trial}/workloads", user, plainCall(t.workloads)),
		getRoute("trials/{trial}/remaining_log_retention_days", user, plainCall(t.remainingDays)),
		auditedRoute("trial.kill", postRoute("trials/{trial}/kill", user, plainCall(t.killTrial))),
		auditedRoute("trial.retain_logs", route{method: http.MethodPut, path: "trials/{trial}/retain_logs", access: user, endpoint: unaryCall(t.retainTrialLogs)}),
	}
}

func (t *trialCalls) trials(c *call) (*apiv1.GetExperimentTrialsResponse, error) {
	params := c.query()
	id, err := c.experimentID()
	r := &apiv1.GetExperimentTrialsRequest{
		ExperimentId: id, SortBy: query.Enum[apiv1.GetExperimentTrialsRequest_SortBy](params, "sortBy"), Descending: params.Descending(),
		Offset: int32(params.Number("offset")), Limit: int32(params.Limit()),
		// Trials have the same states as experiments.
		States: query.Enums[apiv1.Trial_State](params, "states"),
	}
	if err == nil {
		err = params.Err()
	}
	if err != nil {
		return nil, err
	}
	owner, err := t.cfg.Experiments.Owner(id)
	if err != nil {
		return nil, err
	}
	out, err := t.cfg.Trials.List(c.Context(), r)
	for _, one := range out.GetTrials() {
		c.hideWorkload(owner, one.GetBestCheckpoint())
	}
	return out, err
}

// trial responds to users, and to a task about its own trial.
func (t *trialCalls) trial(c *call) (*apiv1.GetTrialResponse, error) {
	id, err := c.trialID()
	if err == nil && c.allocation != "" {
		err = t.checkReporter(c, id)
	}
	if err != nil {
		return nil, err
	}
	where, err := t.cfg.Trials.TrialTasks(c.Context(), id)
	if err != nil {
		return nil, err
	}
	detailed := c.query().IsSet("detail")
	if c.query().Err() != nil {
		return nil, c.query().Err()
	}
	trial, err := t.cfg.Trials.Trial(c.Context(), id)
	if err != nil {
		return nil, err
	}
	c.hideWorkload(where.Owner, trial.GetBestCheckpoint())
	out := &apiv1.GetTrialResponse{Trial: trial}
	if detailed && trial.GetState() == apiv1.Trial_STATE_ERROR && c.owns(where.Owner) {
		out.LastLines, err = t.cfg.Tasks.LastLines(c.Context(), trial.GetTaskId())
	}
	return out, err
}

func (t *trialCalls) workloads(c *call) (*apiv1.GetTrialWorkloadsResponse, error) {
	params := c.query()
	id, err := c.trialID()
	r := &apiv1.GetTrialWorkloadsRequest{
		TrialId: id, Descending: params.Descending(), Offset: int32(params.Number("offset")), Limit: int32(params.Limit()),
		SortKey: params.Text("sortKey"), Filter: query.Enum[apiv1.GetTrialWorkloadsRequest_FilterOption](params, "filter"),
		IncludeBatchMetrics: params.IsSet("includeBatchMetrics"), Group: params.Text("group"), RemoveDeletedCheckpoints: params.IsSet("removeDeletedCheckpoints"),
	}
	if err == nil {
		err = params.Err()
	}
	if err != nil {
		return nil, err
	}
	where, err := t.cfg.Trials.TrialTasks(c.Context(), id)
	if err != nil {
		return nil, err
	}
	out, err := t.cfg.Trials.Workloads(c.Context(), r)
	for _, w := range out.GetWorkloads() {
		c.hideWorkload(where.Owner, w.GetCheckpoint())
	}
	return out, err
}

func (t *trialCalls) remainingDays(c *call) (*apiv1.GetTrialRemainingLogRetentionDaysResponse, error) {
	id, err := c.trialID()
	if err != nil {
		return nil, err
	}
	days, err := t.cfg.Trials.RemainingLogDays(c.Context(), id)
	return &apiv1.GetTrialRemainingLogRetentionDaysResponse{RemainingDays: days}, err
}

func (t *trialCalls) killTrial(c *call) (*apiv1.KillTrialResponse, error) {
	id, err := t.changedTrial(c)
	if err != nil {
		return nil, err
	}
	return &apiv1.KillTrialResponse{}, t.cfg.Trials.KillTrial(c.Context(), c.user, id)
}

func (t *trialCalls) retainTrialLogs(c *call, in *apiv1.PutTrialRetainLogsRequest) (*apiv1.PutTrialRetainLogsResponse, error) {
	id, err := t.changedTrial(c, fmt.Sprintf("days=%d", in.GetNumDays()))
	if err != nil {
		return nil, err
	}
	return &apiv1.PutTrialRetainLogsResponse{}, t.cfg.Trials.RetainTrialLogs(c.Context(), c.user, id, in.GetNumDays())
}

// changedTrial returns the trial that a call changes, and sets it as the target in the audit log.
func (t *trialCalls) changedTrial(c *call, details ...string) (int32, error) {
	id, err := c.trialID()
	if err != nil {
		return 0, err
	}
	where, err := t.cfg.Trials.TrialTasks(c.Context(), id)
	if err != nil {
		return 0, err
	}
	c.noteTarget(strconv.Itoa(int(id)), append([]string{t.describeOwner(c, where.Owner)}, details...)...)
	return id, nil
}

func (c *call) trialID() (int32, error) { return c.numberInPath("trial") }

// checkReporter returns an error if the caller may not report about a trial. A task may report about its
// own trial, and a user about the trials of their own experiments.
func (s *shared) checkReporter(c *call, trial int32) error {
	where, err := s.cfg.Trials.TrialTasks(c.Context(), trial)
	switch {
	case err != nil:
		return err
	case c.allocation == "" && c.owns(where.Owner):
		return nil
	case c.allocation == "":
		return status.New(status.PermissionDenied, "trial %d belongs to another user; only its owner and administrators may report about it", trial)
	case slices.Contains(where.Tasks, taskOf(c.allocation)):
		return nil
	}
	return status.New(status.PermissionDenied, "this token is not for a task of trial %d", trial)
}

// checkOwnExperiment returns an error for the token of a task that is not a trial of the experiment. The
// ID of a trial's task begins with the ID of its experiment.
func checkOwnExperiment(c *call, experiment int32) error {
	if of, _, found := strings.Cut(taskOf(c.allocation), "."); found && of == strconv.Itoa(int(experiment)) {
		return nil
	}
	return status.New(status.PermissionDenied, "this token is not for a task of experiment %d", experiment)
}
