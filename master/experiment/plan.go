package experiment

import (
	"context"
	"fmt"
	"math"
	"strconv"

	"github.com/google/uuid"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/checkpoint"
	"github.com/det-deploy/det-deploy/master/experiment/config"
	"github.com/det-deploy/det-deploy/master/experiment/program"
	"github.com/det-deploy/det-deploy/master/task"
	"github.com/det-deploy/det-deploy/master/task/petname"
	"github.com/det-deploy/det-deploy/master/workspace"
)

// planExperiment validates an order.
func (c *creations) planExperiment(ctx context.Context, o Order) (plan, error) {
	p := plan{original: o.Config}
	if err := c.checkParent(o); err != nil {
		return p, err
	}
	layers, asked, err := c.readLayers(ctx, o)
	if err != nil {
		return p, err
	}
	project, space, err := c.findProject(o, asked)
	if err != nil {
		return p, err
	}
	layers.Workspace = space.Storage
	place, err := c.placeOf(o, asked, space)
	if err != nil {
		return p, err
	}
	layers.Container, layers.Priority = place.Defaults, place.Priority
	x, warnings, err := config.Complete(layers)
	if err != nil {
		return p, status.New(status.InvalidArgument, "%v", err)
	}
	x.Resources.ResourcePool = &place.Pool
	p.config, p.record = x, newRecord(o, x, c.cfg.Now().UTC())
	p.record.ProjectID, p.record.Unix = project.ID, place.Unix
	for _, w := range warnings {
		p.record.Warnings = append(p.record.Warnings, w.String())
	}
	if p.record.Searcher.SourceCheckpoint, p.record.Searcher.SourceTrial, err = c.findSource(ctx, o.By, x.Searcher); err != nil {
		return p, err
	}
	return p, c.admit(o, &p, place, space)
}

// readLayers parses the submitted configuration and the template. It also returns the merged
// settings that determine the project and the resource pool.
func (c *creations) readLayers(ctx context.Context, o Order) (config.Layers, config.Experiment, error) {
	var asked config.Experiment
	layers := config.Layers{
		Cluster: c.cfg.Storage, Unmanaged: o.Unmanaged, Seed: uint32(min(c.cfg.Now().Unix(), math.MaxUint32)), //nolint:gosec // it fits
		Name: fmt.Sprintf("Experiment (%s)", petname.Of(uuid.New())),
	}
	var err error
	if layers.Request, err = config.Parse([]byte(o.Config), "config", nil); err != nil {
		return layers, asked, status.New(status.InvalidArgument, "%v", err)
	}
	_ = layers.Request.Decode(&asked) // Complete reports the errors
	if o.Template == "" {
		return layers, asked, nil
	}
	if c.cfg.Templates == nil {
		return layers, asked, status.Missing("template", o.Template)
	}
	text, err := c.cfg.Templates.Template(ctx, o.Template)
	if err != nil {
		return layers, asked, err
	}
	if layers.Template, err = config.Parse(text, "template "+o.Template, nil); err != nil {
		return layers, asked, status.New(status.InvalidArgument, "%v", err)
	}
	var below config.Experiment
	_ = layers.Template.Decode(&below) // Complete reports the errors
	return layers, asked.Merge(below), nil
}

// findProject returns the project of the experiment: that of the order, of the configuration or of
// the parent, otherwise the default project. It returns an error if the user may not use its
// workspace.
func (c *creations) findProject(o Order, x config.Experiment) (workspace.Project, workspace.Workspace, error) {
	project, err := c.nameProject(o, x)
	if err != nil {
		return project, workspace.Workspace{}, err
	}
	space, err := c.cfg.Places.Workspace(project.WorkspaceID)
	if err == nil {
		err = space.CheckUser(o.By)
	}
	return project, space, err
}

func (c *creations) nameProject(o Order, x config.Experiment) (workspace.Project, error) {
	var space, name string
	if x.Workspace != nil {
		space = *x.Workspace
	}
	if x.Project != nil {
		name = *x.Project
	}
	switch {
	case o.Project != 0:
		return c.cfg.Places.Project(o.Project)
	case space != "" && name != "":
		return c.cfg.Places.ProjectNamed(space, name)
	case space != "" || name != "":
		return workspace.Project{}, status.New(status.InvalidArgument, "workspace and project must both be set, or neither")
	}
	if o.Parent != 0 {
		parent, err := c.reg.find(o.Parent)
		if err != nil {
			return workspace.Project{}, err
		}
		return c.cfg.Places.Project(parent.snapshot().ProjectID)
	}
	return c.cfg.Places.Project(1)
}

// placeOf returns the resource pool of the experiment with its task container defaults.
func (c *creations) placeOf(o Order, x config.Experiment, space workspace.Workspace) (task.Place, error) {
	if o.Unmanaged {
		return task.Place{}, nil
	}
	pool := ""
	if x.Resources.ResourcePool != nil {
		pool = *x.Resources.ResourcePool
	}
	return c.cfg.Tasks.Place(o.By, space.ID, pool, x.Resources.SlotsPerTrial)
}

// checkParent returns PermissionDenied if the user may not read the files of the parent.
func (c *creations) checkParent(o Order) error {
	if o.Parent == 0 || len(o.Files) > 0 {
		return nil
	}
	parent, err := c.reg.find(o.Parent)
	if err != nil {
		return err
	}
	return parent.snapshot().CheckReader(o.By, "the files")
}

// findSource returns the checkpoint from which all trials start, and its trial if the configuration
// names one. It returns PermissionDenied if the user may not read the checkpoint.
func (c *creations) findSource(ctx context.Context, by *apiv1.User, s config.Searcher) (id string, trial int32, err error) {
	if s.SourceCheckpointUUID != nil && *s.SourceCheckpointUUID != "" {
		rec, err := checkpoint.CheckSource(ctx, c.cfg.Store, *s.SourceCheckpointUUID)
		if err == nil {
			err = checkpoint.CheckReader(ctx, c.cfg.Store, by, rec)
		}
		return *s.SourceCheckpointUUID, 0, err
	}
	if s.SourceTrialID == nil {
		return "", 0, nil
	}
	if n := *s.SourceTrialID; n < 1 || n > math.MaxInt32 {
		return "", 0, status.Missing("trial", strconv.Itoa(n))
	}
	trial = int32(*s.SourceTrialID) //nolint:gosec // it was just checked
	of, err := c.ofTrial(ctx, trial)
	if err == nil {
		err = of.snapshot().CheckReader(by, "the checkpoints")
	}
	if err != nil {
		return "", trial, err
	}
	rec, found, err := checkpoint.Latest(ctx, c.cfg.Store, trial)
	if err == nil && !found {
		err = status.New(status.FailedPrecondition, "searcher.source_trial_id: trial %d has no checkpoint to start from", trial)
	}
	return rec.UUID, trial, err
}

// admit checks whether the experiment may run, and whether it can run at some point.
func (c *creations) admit(o Order, p *plan, place task.Place, space workspace.Workspace) error {
	if o.Unmanaged {
		return nil
	}
	order := orderOf(p.record, p.config)
	order.Workspace = space.ID
	a, err := c.cfg.Tasks.Admit(o.By, order, program.Asks(p.config, place.Defaults, p.record.Unix))
	if err != nil {
		return err
	}
	p.record.Exceeds = a.Exceeds
	p.record.Warnings = append(p.record.Warnings, a.Warnings...)
	return nil
}
