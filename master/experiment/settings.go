package experiment

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/det-deploy/det-deploy/master/experiment/change"
	"github.com/det-deploy/det-deploy/master/experiment/config"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/task"
	tasklife "github.com/det-deploy/det-deploy/master/task/lifecycle"
)

// Settings is an experiment's configuration without secrets.
type Settings struct {
	Config   map[string]any
	Original string
}

// Settings returns an experiment's configuration, or NotFound.
func (v *views) Settings(ctx context.Context, id int32) (Settings, error) {
	e, err := v.reg.find(id)
	if err != nil {
		return Settings{}, err
	}
	c, original, err := loadConfig(ctx, v.cfg.Store, id)
	if err != nil {
		return Settings{}, err
	}
	return Settings{Config: asChanged(c, e.snapshot()).Show(), Original: original}, nil
}

// ShownConfigs returns the configurations of experiments by ID, in the form of Settings.
func (v *views) ShownConfigs(ctx context.Context, of []View) (map[int32]map[string]any, error) {
	keys := make([]string, 0, len(of))
	for _, x := range of {
		keys = append(keys, record.Key(x.ID))
	}
	docs, err := record.Docs().Shown.ByIDs(ctx, v.cfg.Store, keys)
	if err != nil {
		return nil, fmt.Errorf("read the configurations of %d experiments: %w", len(of), err)
	}
	stored := make(map[string]map[string]any, len(docs))
	for _, d := range docs {
		stored[d.ID] = d.Value.Shown
	}
	out := make(map[int32]map[string]any, len(of))
	for _, x := range of {
		shown := stored[record.Key(x.ID)]
		if shown == nil {
			c, _, err := loadConfig(ctx, v.cfg.Store, x.ID)
			if err != nil {
				return nil, err
			}
			shown = c.Show()
		}
		changeShown(shown, &x.Experiment)
		out[x.ID] = shown
	}
	return out, nil
}

// newConfig returns the stored form of a configuration.
func newConfig(original string, c config.Experiment) (out record.Config, err error) {
	out.Original = original
	if out.Complete, err = c.Store(); err != nil {
		return out, err
	}
	if out.Shown, err = json.Marshal(c.Show()); err != nil {
		return out, fmt.Errorf("show the configuration: %w", err)
	}
	return out, nil
}

// changeShown applies the changes of asChanged to the JSON form of a configuration.
func changeShown(shown map[string]any, x *record.Experiment) {
	shown["name"], shown["labels"] = x.Name, listOf(x.Labels)
	resources := partOf(shown, "resources")
	resources["resource_pool"], resources["weight"], resources["max_slots"] = x.Queue.Pool, x.Queue.Weight, numberOf(x.Queue.MaxSlots)
	if x.Description != "" {
		shown["description"] = x.Description
	}
	if x.Queue.Priority > 0 {
		resources["priority"] = float64(x.Queue.Priority)
	}
	if x.LogDays != nil {
		partOf(shown, "retention_policy")["log_retention_days"] = numberOf(x.LogDays)
	}
}

// partOf returns a section of the configuration. It creates the section if it is missing.
func partOf(shown map[string]any, key string) map[string]any {
	part, ok := shown[key].(map[string]any)
	if !ok {
		part = map[string]any{}
		shown[key] = part
	}
	return part
}

func listOf(texts []string) []any {
	list := make([]any, 0, len(texts))
	for _, text := range texts {
		list = append(list, text)
	}
	return list
}

func numberOf(n *int) any {
	if n == nil {
		return nil
	}
	return float64(*n)
}

// asChanged returns a configuration with the later changes of users.
func asChanged(c config.Experiment, x record.Experiment) config.Experiment {
	c.Name, c.Labels = &x.Name, x.Labels
	c.Resources.ResourcePool, c.Resources.Weight, c.Resources.MaxSlots = &x.Queue.Pool, &x.Queue.Weight, x.Queue.MaxSlots
	if x.Description != "" {
		c.Description = &x.Description
	}
	if x.Queue.Priority > 0 {
		c.Resources.Priority = &x.Queue.Priority
	}
	if x.LogDays != nil {
		c.Retention.LogDays = x.LogDays
	}
	return c
}

// defaultPreemptionTimeout is the default of preemption_timeout, as in Determined 0.38.1.
const defaultPreemptionTimeout = time.Hour

func settingsOf(x *change.Experiment) settings {
	return settings{Experiment: x.Record, order: orderOf(x.Record, x.Config)}
}

// orderOf returns the part of the start order that all trials of an experiment share.
func orderOf(x record.Experiment, c config.Experiment) task.StartOrder {
	o := task.StartOrder{
		Kind: tasklife.Trial, Job: rm.JobID(x.JobID), JobName: x.Name, Entity: strconv.Itoa(int(x.ID)), UserID: x.UserID, Username: x.Username, Unix: x.Unix,
		Submitted: x.Started, Pool: x.Queue.Pool, Slots: x.Queue.Slots, Priority: x.Queue.Priority, Weight: x.Queue.Weight,
		Preemptible: true, PreemptionTimeout: defaultPreemptionTimeout, PodSpec: c.Environment.PodSpec.JSON(),
	}
	if x.Queue.MaxSlots != nil {
		o.MaxSlots = *x.Queue.MaxSlots
	}
	if c.PreemptionTimeout != nil {
		// Earlier versions had no limit.
		o.PreemptionTimeout = min(time.Duration(*c.PreemptionTimeout), config.MaxPreemptionTimeout)
	}
	if c.Resources.IsSingleNode != nil {
		o.SingleNode = *c.Resources.IsSingleNode
	}
	return o
}

// startOrder returns the start order of a trial's task.
func (s settings) startOrder(t record.Trial) task.StartOrder {
	o := s.order
	o.Task, o.Run, o.Workspace = rm.TaskID(t.Task()), t.Life.Run, s.workspace
	o.Name = fmt.Sprintf("Trial %d (Experiment %d)", t.ID, s.ID)
	for _, node := range t.Life.Excluded {
		o.Excluded = append(o.Excluded, rm.AgentID(node))
	}
	if t.Life.Run == 1 {
		o.Warnings = s.Warnings
	}
	return o
}

// workspaceOf returns the workspace of a project.
func (s *shared) workspaceOf(project int32) (int32, error) {
	p, err := s.cfg.Places.Project(project)
	return p.WorkspaceID, err
}
