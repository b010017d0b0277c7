package experiment

import (
	"cmp"
	"context"
	"reflect"

	"github.com/det-deploy/det-deploy/master/api/status"
	"github.com/det-deploy/det-deploy/master/experiment/change"
	"github.com/det-deploy/det-deploy/master/experiment/config"
	"github.com/det-deploy/det-deploy/master/experiment/program"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/experiment/search"
	"github.com/det-deploy/det-deploy/master/log"
	"github.com/det-deploy/det-deploy/master/rm"
)

// override is the changed configuration of an experiment that is continued.
type override struct {
	config   config.Experiment
	exceeds  bool
	warnings []string
}

// overlay returns the configuration with the override, or nil if there is no override. It returns
// InvalidArgument if the override is invalid or changes a setting that a trial keeps, and the errors
// of Tasks.Place and Tasks.Admit.
func (c *creations) overlay(ctx context.Context, o Continuation, x record.Experiment) (*override, error) {
	request, err := config.Parse([]byte(o.Override), "override", nil)
	if err != nil {
		return nil, status.New(status.InvalidArgument, "%v", err)
	}
	if request.CountValues() <= 1 { // empty, or {}
		return nil, nil //nolint:nilnil // see above
	}
	old, _, err := loadConfig(ctx, c.cfg.Store, o.ID)
	if err != nil {
		return nil, err
	}
	old = asChanged(old, x)
	if old.Search().Method != search.Single {
		return nil, status.New(status.InvalidArgument, "cannot continue experiment %d: the configuration of an experiment with several trials cannot be changed; fork it instead", o.ID)
	}
	complete, err := old.Store()
	if err != nil {
		return nil, err
	}
	below, err := config.Parse(complete, "configuration", nil)
	if err != nil {
		return nil, err
	}
	changed, warnings, err := config.Complete(config.Layers{Request: request, Template: below, Cluster: c.cfg.Storage})
	if err != nil {
		return nil, status.New(status.InvalidArgument, "%v", err)
	}
	if err := checkKept(o.ID, old, changed); err != nil {
		return nil, err
	}
	if request.Given("workspace") || request.Given("project") {
		if err := c.checkSameProject(changed, x); err != nil {
			return nil, err
		}
	}
	if !reflect.DeepEqual(changed.CheckpointStorage, old.CheckpointStorage) {
		changed.CheckpointStorage = changed.CheckpointStorage.InOwnDirectory(cmp.Or(old.CheckpointStorage.OwnDirectory(), newDirectory(o.ID)))
	}
	out, err := c.admitOverride(o, changed, x)
	if err != nil {
		return nil, err
	}
	for _, w := range warnings {
		if request.Given(w.Path) {
			out.warnings = append(out.warnings, w.String())
		}
	}
	return &out, nil
}

// admitOverride checks whether the trial may run with the changed configuration.
func (c *creations) admitOverride(o Continuation, changed config.Experiment, x record.Experiment) (override, error) {
	space, err := c.workspaceOf(x.ProjectID)
	if err != nil {
		return override{}, err
	}
	place, err := c.cfg.Tasks.Place(o.By, space, *changed.Resources.ResourcePool, changed.Resources.SlotsPerTrial)
	if err != nil {
		return override{}, err
	}
	changed.Resources.ResourcePool = &place.Pool
	x.Queue = queueOf(changed)
	order := orderOf(x, changed)
	order.Workspace = space
	a, err := c.cfg.Tasks.Admit(o.By, order, program.Asks(changed, place.Defaults, x.Unix))
	return override{changed, a.Exceeds, a.Warnings}, err
}

// keptSetting is a setting that a continued experiment keeps, with the reason and the advice.
type keptSetting struct {
	key  string
	part func(config.Experiment) config.Experiment
	why  string
}

func keptSettings() []keptSetting {
	searcher := func(part func(config.Searcher) config.Searcher) func(config.Experiment) config.Experiment {
		return func(x config.Experiment) config.Experiment { return config.Experiment{Searcher: part(x.Searcher)} }
	}
	return []keptSetting{
		{"searcher.name", searcher(func(s config.Searcher) config.Searcher { return config.Searcher{Name: s.Name} }), "the searcher must stay single; fork it instead"},
		{
			"hyperparameters",
			func(x config.Experiment) config.Experiment {
				return config.Experiment{Hyperparameters: x.Hyperparameters}
			},
			"the trial keeps its initial values; create another experiment with the new values, which can start from the latest checkpoint of the trial with searcher.source_trial_id",
		},
		{
			"searcher.metric",
			searcher(func(s config.Searcher) config.Searcher {
				return config.Searcher{Metric: s.Metric, SmallerIsBetter: s.SmallerIsBetter}
			}),
			"earlier validations are compared by it and by smaller_is_better; fork it instead",
		},
		{
			"searcher.source_trial_id",
			searcher(func(s config.Searcher) config.Searcher {
				return config.Searcher{SourceTrialID: s.SourceTrialID, SourceCheckpointUUID: s.SourceCheckpointUUID}
			}),
			"the trial continues from its own checkpoint, and source_checkpoint_uuid has no effect either; fork it instead",
		},
		{
			"reproducibility.experiment_seed",
			func(x config.Experiment) config.Experiment {
				return config.Experiment{Reproducibility: x.Reproducibility}
			},
			"the trial keeps its seed; fork it instead",
		},
	}
}

// checkKept returns an error if the override changes a setting that the experiment keeps.
func checkKept(id int32, old, changed config.Experiment) error {
	for _, kept := range keptSettings() {
		same, err := sameSettings(kept.part(old), kept.part(changed))
		if err != nil {
			return err
		}
		if !same {
			return status.New(status.InvalidArgument, "cannot continue experiment %d: %s: %s", id, kept.key, kept.why)
		}
	}
	return nil
}

// checkSameProject returns an error if the configuration names another project than the experiment's.
func (c *creations) checkSameProject(changed config.Experiment, x record.Experiment) error {
	project, err := c.nameProject(Order{}, changed)
	if err == nil && project.ID != x.ProjectID {
		err = status.New(status.InvalidArgument, "cannot continue experiment %d: workspace, project: it stays in its project; move it with `det experiment move`", x.ID)
	}
	return err
}

func sameSettings(a, b config.Experiment) (bool, error) {
	first, err := a.Store()
	if err != nil {
		return false, err
	}
	second, err := b.Store()
	return string(first) == string(second), err
}

// apply sets the changed configuration, and the settings that users can also change in other ways.
func (o *override) apply(d *change.Draft) {
	d.Config = &o.config
	x := &d.Record
	x.Queue, x.Exceeds = queueOf(o.config), o.exceeds
	x.Name, x.Labels, x.Description = *o.config.Name, o.config.Labels, ""
	if o.config.Description != nil {
		x.Description = *o.config.Description
	}
	if days := o.config.Retention.LogDays; days != nil && !equal(x.LogDays, days) {
		x.LogDays, x.TrialLogDays = days, false
		d.Requests().RetainLogs(*days)
	}
}

// logWarnings writes the warnings to the logs of the continued tasks. Errors are only logged, because
// the lines are informational.
func (o *override) logWarnings(ctx context.Context, s *shared, tasks []string) {
	for _, id := range tasks {
		for _, text := range o.warnings {
			if err := s.cfg.Tasks.Write(ctx, rm.TaskID(id), log.Warning, text); err != nil {
				s.cfg.Log.Warn("cannot write to the log of a trial", "task_id", id, "err", err)
			}
		}
	}
}
