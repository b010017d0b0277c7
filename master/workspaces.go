package master

import (
	"context"
	"errors"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/model"
	"github.com/det-deploy/det-deploy/master/task"
	"github.com/det-deploy/det-deploy/master/template"
	"github.com/det-deploy/det-deploy/master/workspace"
)

// openWorkspaces opens workspaces with their projects, templates and models.
func (m *Master) openWorkspaces(ctx context.Context) (err error) {
	m.workspaces, err = workspace.Open(ctx, workspace.Config{Store: m.store, Users: m.auth, Pools: m.poolNames, Log: m.log})
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

// attachWorkspaces says what is deleted with a workspace.
func (m *Master) attachWorkspaces(context.Context) error {
	m.workspaces.Attach(projectExperiments{m.experiments, m.store}, m.templates, m.models, workspaceTasks{m.tasks})
	return nil
}

// poolNames is the pools that tasks may name.
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

// workspaceTasks ends the tasks of a workspace that is deleted.
type workspaceTasks struct{ tasks *task.Tasks }

// CheckDelete refuses nothing: tasks end with their workspace.
func (w workspaceTasks) CheckDelete(int32) error { return nil }

// DeleteAll kills the tasks of a workspace that have not ended.
func (w workspaceTasks) DeleteAll(ctx context.Context, by *apiv1.User, workspace int32) error {
	var failed []error
	for _, id := range w.tasks.OpenCommands(workspace) {
		_, err := w.tasks.Kill(ctx, by, string(id))
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}
