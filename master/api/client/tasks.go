package client

import (
	"context"
	"net/http"
	"net/url"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// tasks are the calls about tasks.
type tasks struct{ *transport }

// Launch submits a command. A request with a request_id may be repeated and launches only one
// command; without one, a lost response is an error.
func (t tasks) Launch(ctx context.Context, in *apiv1.LaunchCommandRequest) (*apiv1.LaunchCommandResponse, error) {
	out := &apiv1.LaunchCommandResponse{}
	return out, t.do(ctx, call{
		op: "launch command", method: http.MethodPost, path: "/api/v1/commands",
		in: in, out: out, once: in.GetRequestId() == "",
	})
}

// ArrayCommands lists the commands of an array by index.
func (t tasks) ArrayCommands(ctx context.Context, array string) ([]*apiv1.Command, error) {
	out := &apiv1.GetCommandsResponse{}
	err := t.do(ctx, call{
		op: "list the tasks of array " + array, method: http.MethodGet, path: "/api/v1/task-arrays/" + url.PathEscape(array), out: out,
	})
	return out.GetCommands(), err
}

// KillArray kills the active commands of an array and returns their number.
func (t tasks) KillArray(ctx context.Context, array string) (int, error) {
	out := &apiv1.KillTaskArrayResponse{}
	err := t.do(ctx, call{op: "kill task array " + array, method: http.MethodPost, path: "/api/v1/task-arrays/" + url.PathEscape(array) + "/kill", out: out})
	return int(out.GetKilled()), err
}

// Commands lists the commands of the given users, or of all users.
func (t tasks) Commands(ctx context.Context, users ...string) ([]*apiv1.Command, error) {
	out := &apiv1.GetCommandsResponse{}
	err := t.do(ctx, call{
		op: "list tasks", method: http.MethodGet, path: "/api/v1/commands",
		query: url.Values{"users": users}, out: out,
	})
	return out.GetCommands(), err
}

// Command returns one command with its configuration.
func (t tasks) Command(ctx context.Context, id string) (*apiv1.GetCommandResponse, error) {
	out := &apiv1.GetCommandResponse{}
	return out, t.do(ctx, call{op: "get task " + id, method: http.MethodGet, path: "/api/v1/commands/" + url.PathEscape(id), out: out})
}

// Kill kills a command. It has no effect on a command that has ended.
func (t tasks) Kill(ctx context.Context, id string) (*apiv1.Command, error) {
	out := &apiv1.KillCommandResponse{}
	err := t.do(ctx, call{op: "kill task " + id, method: http.MethodPost, path: "/api/v1/commands/" + url.PathEscape(id) + "/kill", out: out})
	return out.GetCommand(), err
}

// Preempt asks a running allocation to checkpoint and stop, so that it runs again later.
func (t tasks) Preempt(ctx context.Context, allocation string) error {
	return t.do(ctx, call{
		op: "preempt allocation " + allocation, method: http.MethodPost,
		path: "/api/v1/allocations/" + url.PathEscape(allocation) + "/signals/pending_preemption",
	})
}

// Task returns a task with its allocations and, while it is queued, the reason.
func (t tasks) Task(ctx context.Context, id string) (*apiv1.GetTaskResponse, error) {
	out := &apiv1.GetTaskResponse{}
	return out, t.do(ctx, call{op: "get task " + id, method: http.MethodGet, path: "/api/v1/tasks/" + url.PathEscape(id), out: out})
}

// Tasks returns the queued and running allocations by ID.
func (t tasks) Tasks(ctx context.Context) (map[string]*apiv1.AllocationSummary, error) {
	out := &apiv1.GetTasksResponse{}
	err := t.do(ctx, call{op: "list allocations", method: http.MethodGet, path: "/api/v1/tasks", out: out})
	return out.GetAllocationIdToSummary(), err
}
