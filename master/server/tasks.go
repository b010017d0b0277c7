package server

import (
	"fmt"
	"slices"
	"strings"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// taskCalls is what users run.
type taskCalls struct{ *shared }

func (t *taskCalls) routes() []route {
	if t.cfg.Tasks == nil {
		return nil
	}
	return []route{
		sizedCall(postRoute("commands", user, unaryCall(t.launch)), large),
		getRoute("commands", user, plainCall(t.commands)),
		getRoute("commands/{command}", user, plainCall(t.command)),
		auditedRoute("task.kill", postRoute("commands/{command}/kill", user, plainCall(t.killCommand))),
		auditedRoute("task.priority", postRoute("commands/{command}/set_priority", user, unaryCall(t.setCommandPriority))),
		getRoute("tasks", user, plainCall(t.tasks)),
		getRoute("tasks/{task}", user, plainCall(t.task)),
		getRoute("tasks/{task}/context_directory", either, taskContext(t)),
	}
}

func (t *taskCalls) launch(c *call, in *apiv1.LaunchCommandRequest) (*apiv1.LaunchCommandResponse, error) {
	return t.cfg.Tasks.Launch(c.Context(), c.user, in, c.contents)
}

func byStart(a, b *apiv1.Command) int {
	return a.GetStartTime().AsTime().Compare(b.GetStartTime().AsTime())
}

var commandOrder = map[string]func(a, b *apiv1.Command) int{
	"":                      func(a, b *apiv1.Command) int { return 0 },
	"SORT_BY_ID":            func(a, b *apiv1.Command) int { return strings.Compare(a.GetId(), b.GetId()) },
	"SORT_BY_DESCRIPTION":   func(a, b *apiv1.Command) int { return strings.Compare(a.GetDescription(), b.GetDescription()) },
	"SORT_BY_START_TIME":    byStart,
	"SORT_BY_WORKSPACE_ID":  func(a, b *apiv1.Command) int { return int(a.GetWorkspaceId() - b.GetWorkspaceId()) },
	"SORT_BY_USERNAME":      func(a, b *apiv1.Command) int { return strings.Compare(a.GetUsername(), b.GetUsername()) },
	"SORT_BY_RESOURCE_POOL": func(a, b *apiv1.Command) int { return strings.Compare(a.GetResourcePool(), b.GetResourcePool()) },
}

func (t *taskCalls) commands(c *call) (*apiv1.GetCommandsResponse, error) {
	names, ids, workspace := c.allValues("users"), c.numberParams("userIds"), int32(c.numberParam("workspaceId"))
	if workspace != 0 && t.cfg.Workspaces != nil {
		if _, err := t.cfg.Workspaces.Get(c.user, workspace); err != nil {
			return nil, err
		}
	}
	list := slices.DeleteFunc(slices.Clone(t.cfg.Tasks.Commands()), func(m *apiv1.Command) bool {
		byName, byID := slices.Contains(names, m.GetUsername()), slices.Contains(ids, m.GetUserId())
		return (len(names)+len(ids) > 0 && !byName && !byID) || (workspace != 0 && m.GetWorkspaceId() != workspace)
	})
	sortList(c, list, commandOrder)
	part, p := cutPage(c, list)
	return &apiv1.GetCommandsResponse{Commands: part, Pagination: p}, c.bad
}

func (t *taskCalls) command(c *call) (*apiv1.GetCommandResponse, error) {
	out, err := t.cfg.Tasks.Command(c.PathValue("command"))
	if err != nil {
		return nil, err
	}
	return c.commandFor(out), nil
}

func (t *taskCalls) killCommand(c *call) (*apiv1.KillCommandResponse, error) {
	c.noteTarget(c.PathValue("command"), t.ownerOf(c, c.PathValue("command")))
	return t.cfg.Tasks.Kill(c.Context(), c.user, c.PathValue("command"))
}

func (t *taskCalls) setCommandPriority(c *call, in *apiv1.SetCommandPriorityRequest) (*apiv1.SetCommandPriorityResponse, error) {
	p := int(in.GetPriority())
	c.noteTarget(c.PathValue("command"), t.ownerOf(c, c.PathValue("command")), fmt.Sprintf("priority=%d", p))
	in.CommandId = c.PathValue("command")
	return t.cfg.Tasks.SetPriority(c.Context(), c.user, in)
}

func (t *taskCalls) tasks(*call) (*apiv1.GetTasksResponse, error) {
	return &apiv1.GetTasksResponse{AllocationIdToSummary: t.cfg.Tasks.Summaries()}, nil
}

func (t *taskCalls) task(c *call) (*apiv1.GetTaskResponse, error) {
	out, err := t.cfg.Tasks.Task(c.Context(), c.PathValue("task"))
	if err != nil {
		return nil, err
	}
	return t.taskFor(c, out)
}
