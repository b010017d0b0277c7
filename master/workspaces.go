package master

import (
	"context"
	"errors"
	"fmt"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/experiment"
	experimentconfig "github.com/det-deploy/det-deploy/master/experiment/config"
	"github.com/det-deploy/det-deploy/master/experiment/lifecycle"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/model"
	"github.com/det-deploy/det-deploy/master/policy"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/master/task"
	"github.com/det-deploy/det-deploy/master/template"
	"github.com/det-deploy/det-deploy/master/workspace"
)

// openWorkspaces opens workspaces with their projects, templates and models.
func (m *Master) openWorkspaces(ctx context.Context) (err error) {
	m.workspaces, err = workspace.Open(ctx, workspace.Config{Store: m.store, Users: m.auth, Pools: m.poolNames, CheckStorage: m.checkStorage, Log: m.log})
	if err != nil {
		return err
	}
	m.templates, err = template.Open(ctx, template.Config{Store: m.store, Workspaces: m.workspaces})
	if err != nil {
		return err
	}
	m.models, err = model.Open(ctx, model.Config{
		Store: m.store, Workspaces: m.workspaces, Users: m.auth,
		Checkpoint: func(ctx context.Context, uuid string) (*apiv1.Checkpoint, error) {
			return m.checkpointView.Checkpoint(ctx, uuid)
		},
	})
	return err
}

// attachWorkspaces registers the objects that are deleted with a workspace.
func (m *Master) attachWorkspaces(context.Context) error {
	m.workspaces.Attach(projectExperiments{m.experiments, m.store}, m.templates, m.models, workspaceTasks{m.tasks})
	return nil
}

// poolNames returns the pools of the resource manager.
func (m *Master) poolNames() []string {
	if m.rm == nil {
		return nil
	}
	var names []string
	for _, p := range m.rm.PoolSettings() {
		names = append(names, p.Name)
	}
	return names
}

// checkStorage returns an error if tasks of users may mount the directory of a workspace's checkpoint
// storage in no pool.
func (m *Master) checkStorage(s experimentconfig.Storage) error {
	shared := s.Typed().SharedFS
	if shared == nil {
		return nil
	}
	asked := policy.Asked{Mounts: []policy.Mount{{
		Field: "host_path", Path: shared.Directory(), Propagation: shared.Propagation, Storage: true,
	}}}
	var err error
	for _, pool := range m.poolNames() {
		if err = policy.Check(m.policies(pool), asked); err == nil {
			return nil
		}
	}
	return err
}

// workspaceTasks kills the tasks of a deleted workspace.
type workspaceTasks struct{ tasks *task.Tasks }

// CheckDelete returns nil: tasks end with their workspace.
func (w workspaceTasks) CheckDelete(int32) error { return nil }

// DeleteAll kills the active tasks of a workspace.
func (w workspaceTasks) DeleteAll(ctx context.Context, by *apiv1.User, workspace int32) error {
	return w.tasks.KillOpen(ctx, by, workspace)
}

// projectExperiments are the experiments of projects.
type projectExperiments struct {
	*experiment.Experiments

	store *store.Store
}

// Count implements workspace.Experiments.
func (e projectExperiments) Count() map[int32]workspace.Counts {
	out := map[int32]workspace.Counts{}
	for _, x := range e.Rows(experiment.Filter{}) {
		n := out[x.ProjectID]
		n.Experiments++
		n.Runs += int32(x.Trials)
		if x.State == lifecycle.Active {
			n.Active++
		}
		if x.Started.After(n.LastStarted) {
			n.LastStarted = x.Started
		}
		out[x.ProjectID] = n
	}
	return out
}

// DeleteAll implements workspace.Experiments.
func (e projectExperiments) DeleteAll(ctx context.Context, by *apiv1.User, project int32, again bool) (left int, err error) {
	var failed []error
	for _, x := range e.Rows(experiment.Filter{}) {
		if x.ProjectID != project {
			continue
		}
		left++
		failed = append(failed, e.deleteNext(ctx, by, *x.Experiment, again))
	}
	if left == 0 {
		// An experiment stored before the project was marked may not be in memory yet.
		left, err = e.countStored(ctx, project)
	}
	return left, errors.Join(append(failed, err)...)
}

// deleteNext performs the next step of deleting one experiment.
func (e projectExperiments) deleteNext(ctx context.Context, by *apiv1.User, x record.Experiment, again bool) error {
	request := lifecycle.Kill
	switch {
	case x.State == lifecycle.Deleting || x.State == lifecycle.StoppingKilled:
		return nil
	case x.State == lifecycle.DeleteFailed && !again:
		return fmt.Errorf("experiment %d cannot be deleted: %s", x.ID, x.Failure)
	case x.State.Over():
		request = lifecycle.Delete
	}
	err := e.Ask(ctx, by, x.ID, request)
	if status.Of(err) == status.NotFound {
		return nil
	}
	return err
}

func (e projectExperiments) countStored(ctx context.Context, project int32) (n int, err error) {
	docs, err := record.Docs().Experiments.All(ctx, e.store)
	for _, d := range docs {
		if d.Value.ProjectID == project {
			n++
		}
	}
	return n, err
}
