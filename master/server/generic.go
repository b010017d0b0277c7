package server

import (
	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// genericCalls serves the calls about generic tasks.
type genericCalls struct{ *shared }

func (g *genericCalls) routes() []route {
	if g.cfg.Tasks == nil {
		return nil
	}
	return []route{
		sizedCall(postRoute("generic-tasks", user, unaryCall(g.create)), large),
		auditedRoute("task.kill", postRoute("tasks/{generic}/kill", user, unaryCall(g.kill))),
		auditedRoute("task.pause", postRoute("tasks/{generic}/pause", user, plainCall(g.pause))),
		auditedRoute("task.resume", postRoute("tasks/{generic}/unpause", user, plainCall(g.unpause))),
		getRoute("tasks/{generic}/config", user, plainCall(g.config)),
	}
}

// create runs a task in the workspace of its project.
func (g *genericCalls) create(c *call, in *apiv1.CreateGenericTaskRequest) (*apiv1.CreateGenericTaskResponse, error) {
	workspace, err := g.workspaceOf(in)
	if err != nil {
		return nil, err
	}
	return g.cfg.Tasks.CreateGeneric(c.Context(), c.user, workspace, in, c.intake.contents)
}

// workspaceOf returns the workspace of the project of a task, or 0 without a project.
func (g *genericCalls) workspaceOf(in *apiv1.CreateGenericTaskRequest) (int32, error) {
	if in.ProjectId == nil || g.cfg.Workspaces == nil {
		return 0, nil
	}
	p, err := g.cfg.Workspaces.ShowProject(in.GetProjectId())
	if err == nil && p.GetArchived() {
		err = status.New(status.FailedPrecondition, "project '%s' is archived; unarchive it first", p.GetName())
	}
	return p.GetWorkspaceId(), err
}

func (g *genericCalls) kill(c *call, in *apiv1.KillGenericTaskRequest) (*apiv1.KillGenericTaskResponse, error) {
	id := g.noteTask(c)
	return &apiv1.KillGenericTaskResponse{}, g.cfg.Tasks.KillGeneric(c.Context(), c.user, id, in.GetKillFromRoot())
}

func (g *genericCalls) pause(c *call) (*apiv1.PauseGenericTaskResponse, error) {
	return &apiv1.PauseGenericTaskResponse{}, g.cfg.Tasks.PauseGeneric(c.Context(), c.user, g.noteTask(c))
}

func (g *genericCalls) unpause(c *call) (*apiv1.UnpauseGenericTaskResponse, error) {
	return &apiv1.UnpauseGenericTaskResponse{}, g.cfg.Tasks.UnpauseGeneric(c.Context(), c.user, g.noteTask(c))
}

func (g *genericCalls) config(c *call) (*apiv1.GetGenericTaskConfigResponse, error) {
	return g.cfg.Tasks.GenericConfig(c.Context(), c.user, c.PathValue("generic"))
}

// noteTask returns the ID of the call's task, which is the target of its record.
func (g *genericCalls) noteTask(c *call) string {
	id := c.PathValue("generic")
	c.noteTarget(id, g.ownerOf(c, id))
	return id
}
