package server

import (
	"fmt"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/server/query"
	"github.com/det-deploy/det-deploy/master/task"
)

// taskCalls serves the calls about tasks.
type taskCalls struct{ *shared }

func (t *taskCalls) routes() []route {
	if t.cfg.Tasks == nil {
		return nil
	}
	return []route{
		sizedCall(postRoute("commands", user, unaryCall(t.launch)), large),
		postRoute("commands/preview", user, unaryCall(t.preview)),
		getRoute("commands", user, plainCall(t.commands)),
		getRoute("commands/{command}", user, plainCall(t.command)),
		getRoute("task-history", user, plainCall(t.history)),
		auditedRoute("task.kill", postRoute("commands/{command}/kill", user, plainCall(t.killCommand))),
		getRoute("task-arrays/{array}", user, plainCall(t.array)),
		auditedRoute("task.kill", postRoute("task-arrays/{array}/kill", user, plainCall(t.killArray))),
		auditedRoute("task.priority", postRoute("commands/{command}/set_priority", user, unaryCall(t.setCommandPriority))),
		getRoute("tasks", user, summariesCall(t)),
		getRoute("/tasks", user, rootSummariesCall(t)),
		getRoute("tasks/{task}", user, plainCall(t.task)),
		postRoute("tasks/{task}/context_copies", user, plainCall(t.copyContext)),
		getRoute("tasks/{task}/context_directory", either, taskContext(t)),
	}
}

func (t *taskCalls) launch(c *call, in *apiv1.LaunchCommandRequest) (*apiv1.LaunchCommandResponse, error) {
	return t.cfg.Tasks.Launch(c.Context(), c.user, in, c.intake.contents)
}

func (t *taskCalls) preview(c *call, in *apiv1.LaunchCommandRequest) (*apiv1.PreviewCommandResponse, error) {
	return t.cfg.Tasks.Preview(c.Context(), c.user, in)
}

// copyContext copies the context of a task of another user, for a task of the caller.
func (t *taskCalls) copyContext(c *call) (*apiv1.PostTaskContextCopyResponse, error) {
	task := c.PathValue("task")
	if err := t.checkFilesReader(c, task); err != nil {
		return nil, err
	}
	id, err := t.cfg.Tasks.CopyContext(c.Context(), c.user, task)
	return &apiv1.PostTaskContextCopyResponse{ContextId: id}, err
}

var commandOrder = map[string]task.CommandOrder{
	"":                      task.BySubmission,
	"SORT_BY_ID":            task.ByID,
	"SORT_BY_DESCRIPTION":   task.ByName,
	"SORT_BY_START_TIME":    task.BySubmission,
	"SORT_BY_WORKSPACE_ID":  task.ByWorkspace,
	"SORT_BY_USERNAME":      task.ByUsername,
	"SORT_BY_RESOURCE_POOL": task.ByPool,
}

func (t *taskCalls) commands(c *call) (*apiv1.GetCommandsResponse, error) {
	q, p, err := t.taskQuery(c)
	if err != nil {
		return nil, err
	}
	list, err := t.cfg.Tasks.Commands(c.Context(), q)
	return &apiv1.GetCommandsResponse{Commands: c.commandsFor(list), Pagination: p.Pagination}, err
}

// page is the part of a list in a response. It is set when the list is read.
type page struct{ *apiv1.Pagination }

// taskQuery returns the query of a call that lists tasks of one kind.
func (s *shared) taskQuery(c *call) (task.CommandQuery, *page, error) {
	params := c.query()
	workspace := int32(params.Number("workspaceId"))
	if workspace != 0 && s.cfg.Workspaces != nil {
		if _, err := s.cfg.Workspaces.Get(c.user, workspace); err != nil {
			return task.CommandQuery{}, nil, err
		}
	}
	part := params.Part()
	q := task.CommandQuery{
		Usernames: params.All("users"), UserIDs: params.Numbers("userIds"), Workspace: workspace,
		Order: query.Order(params, commandOrder), Descending: params.Descending(),
	}
	if params.Err() != nil {
		return q, nil, params.Err()
	}
	p := &page{}
	q.Cut = func(total int) (from, to int) {
		p.Pagination = part.Of(total)
		return int(p.GetStartIndex()), int(p.GetEndIndex())
	}
	return q, p, nil
}

func (t *taskCalls) command(c *call) (*apiv1.GetCommandResponse, error) {
	get := t.cfg.Tasks.Command
	if c.query().IsSet("detail") {
		get = t.cfg.Tasks.Detail
	}
	if err := c.query().Err(); err != nil {
		return nil, err
	}
	out, err := get(c.Context(), c.PathValue("command"))
	if err != nil {
		return nil, err
	}
	return c.commandFor(out), nil
}

func (t *taskCalls) killCommand(c *call) (*apiv1.KillCommandResponse, error) {
	c.noteTarget(c.PathValue("command"), t.ownerOf(c, c.PathValue("command")))
	return t.cfg.Tasks.Kill(c.Context(), c.user, c.PathValue("command"))
}

func (t *taskCalls) array(c *call) (*apiv1.GetCommandsResponse, error) {
	list, err := t.cfg.Tasks.ArrayCommands(c.Context(), c.PathValue("array"))
	return &apiv1.GetCommandsResponse{Commands: c.commandsFor(list)}, err
}

func (t *taskCalls) killArray(c *call) (*apiv1.KillTaskArrayResponse, error) {
	c.noteTarget(c.PathValue("array"), "array")
	return t.cfg.Tasks.KillArray(c.Context(), c.user, c.PathValue("array"))
}

func (t *taskCalls) setCommandPriority(c *call, in *apiv1.SetCommandPriorityRequest) (*apiv1.SetCommandPriorityResponse, error) {
	p := int(in.GetPriority())
	c.noteTarget(c.PathValue("command"), t.ownerOf(c, c.PathValue("command")), fmt.Sprintf("priority=%d", p))
	in.CommandId = c.PathValue("command")
	return t.cfg.Tasks.SetPriority(c.Context(), c.user, in)
}

func (t *taskCalls) task(c *call) (*apiv1.GetTaskResponse, error) {
	out, err := t.cfg.Tasks.Task(c.Context(), c.PathValue("task"))
	if err != nil {
		return nil, err
	}
	return t.taskFor(c, out)
}
