package client

import (
	"context"
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// tasks are the calls about tasks.
type tasks struct{ *transport }

// Launch submits a command. A request with a request_id may be repeated and launches only one
// command; without one, a lost response is an error.
func (t tasks) Launch(ctx context.Context, in *apiv1.LaunchCommandRequest) (*apiv1.LaunchCommandResponse, error) {
	if err := t.checkFields(ctx, in); err != nil {
		return nil, err
	}
	out := &apiv1.LaunchCommandResponse{}
	return out, t.do(ctx, call{
		op: "launch command", method: http.MethodPost, path: "/api/v1/commands",
		in: in, out: out, once: in.GetRequestId() == "",
	})
}

// checkFields returns an error if a master of an earlier version would ignore what the request asks for.
func (t tasks) checkFields(ctx context.Context, in *apiv1.LaunchCommandRequest) error {
	var needed []string
	if len(in.GetAfter()) > 0 {
		needed = append(needed, "after")
	}
	if len(in.GetLabels()) > 0 {
		needed = append(needed, "labels")
	}
	if needed == nil {
		return nil
	}
	about, err := sessions(t).Master(ctx)
	if err != nil {
		return err
	}
	for _, field := range needed {
		if !slices.Contains(about.GetLaunchFields(), field) {
			return &Error{
				Kind: Unbuilt, Op: "launch command", Master: t.URL(),
				Message: "the master is of an earlier version, which would ignore the task's " + field + "; upgrade the cluster first",
			}
		}
	}
	return nil
}

// Preview returns what would become of a command that was launched now. It changes nothing.
func (t tasks) Preview(ctx context.Context, in *apiv1.LaunchCommandRequest) (*apiv1.PreviewCommandResponse, error) {
	out := &apiv1.PreviewCommandResponse{}
	return out, t.do(ctx, call{
		op: "preview command", method: http.MethodPost, path: "/api/v1/commands/preview", in: in, out: out,
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

// CommandDetail is Command for a command that need not be listed any more, with its place in the queue while
// it waits, and the last lines of its program if it did not succeed.
func (t tasks) CommandDetail(ctx context.Context, id string) (*apiv1.GetCommandResponse, error) {
	out := &apiv1.GetCommandResponse{}
	return out, t.do(ctx, call{
		op: "get task " + id, method: http.MethodGet, path: "/api/v1/commands/" + url.PathEscape(id),
		query: url.Values{"detail": {"true"}}, out: out,
	})
}

// TaskQuery selects commands. A filter without values selects all; a command has one of the States, Users and
// Pools, and all of the Labels, which are of the form key=value.
type TaskQuery struct {
	States, Users, Pools, Labels []string
	// Since is the earliest end, zero for all. Commands that have not ended are always selected.
	Since time.Time
	// Limit is the maximum number of commands; 0 means no limit.
	Limit int
}

// taskPage is the number of commands in one response.
const taskPage = 500

// TaskHistory returns commands, listed or not: first those that have not ended, the newest first, then the
// others, the latest end first.
func (t tasks) TaskHistory(ctx context.Context, q TaskQuery) ([]*apiv1.Command, error) {
	values := q.values()
	var all []*apiv1.Command
	for {
		each := taskPage
		if q.Limit > 0 {
			each = min(each, q.Limit-len(all))
		}
		values.Set("limit", strconv.Itoa(each))
		out, err := t.readHistory(ctx, values)
		if all = append(all, out.GetTasks()...); err != nil || out.GetNext() == "" || len(all) == q.Limit {
			return all, err
		}
		values.Set("after", out.GetNext())
	}
}

// TaskPage returns one page of TaskHistory with at most q.Limit commands, and the position of the next one. An
// empty position is that of the first page, or means that there is no other page.
func (t tasks) TaskPage(ctx context.Context, q TaskQuery, after string) (page []*apiv1.Command, next string, err error) {
	values := q.values()
	values.Set("limit", strconv.Itoa(q.Limit))
	if after != "" {
		values.Set("after", after)
	}
	out, err := t.readHistory(ctx, values)
	return out.GetTasks(), out.GetNext(), err
}

func (t tasks) readHistory(ctx context.Context, values url.Values) (*apiv1.ListTasksResponse, error) {
	out := &apiv1.ListTasksResponse{}
	return out, t.do(ctx, call{op: "list tasks", method: http.MethodGet, path: "/api/v1/task-history", query: values, out: out})
}

func (q TaskQuery) values() url.Values {
	values := url.Values{"states": q.States, "users": q.Users, "pools": q.Pools, "labels": q.Labels}
	if !q.Since.IsZero() {
		values.Set("since", q.Since.UTC().Format(time.RFC3339Nano))
	}
	return values
}

// CopyContext stores the context of a task as one of the caller, and returns its ID, or "" if the task has
// none.
func (t tasks) CopyContext(ctx context.Context, id string) (string, error) {
	out := &apiv1.PostTaskContextCopyResponse{}
	err := t.do(ctx, call{
		op: "copy the files of task " + id, method: http.MethodPost,
		path: "/api/v1/tasks/" + url.PathEscape(id) + "/context_copies", out: out,
	})
	return out.GetContextId(), err
}

// ContextDirectory returns the files of a task as a compressed archive, empty if it has none.
func (t tasks) ContextDirectory(ctx context.Context, id string) ([]byte, error) {
	out := &apiv1.GetTaskContextDirectoryResponse{}
	err := t.do(ctx, call{op: "get the files of task " + id, method: http.MethodGet, path: "/api/v1/tasks/" + url.PathEscape(id) + "/context_directory", out: out})
	if err != nil {
		return nil, err
	}
	archive, err := base64.StdEncoding.DecodeString(out.GetB64Tgz())
	if err != nil {
		return nil, &Error{Kind: Internal, Op: "get the files of task " + id, Master: t.URL(), Err: err}
	}
	return archive, nil
}

// killed are the paths of the kinds of tasks that can be killed. Determined 0.38.1 does not tell that of a command.
var killed = map[apiv1.TaskType]string{
	apiv1.TaskType_TASK_TYPE_UNSPECIFIED: "commands",
	apiv1.TaskType_TASK_TYPE_COMMAND:     "commands", apiv1.TaskType_TASK_TYPE_SHELL: "shells", apiv1.TaskType_TASK_TYPE_NOTEBOOK: "notebooks",
	apiv1.TaskType_TASK_TYPE_TENSORBOARD: "tensorboards", apiv1.TaskType_TASK_TYPE_GENERIC: "tasks",
}

// Kill kills a task of a kind, and the descendants of a generic task. Killing an ended one is not an error.
func (t tasks) Kill(ctx context.Context, kind apiv1.TaskType, id string) error {
	path, found := killed[kind]
	if !found {
		return &Error{Kind: Unbuilt, Op: "kill task " + id, Master: t.URL(), Message: "its kind is not known"}
	}
	return t.do(ctx, call{op: "kill task " + id, method: http.MethodPost, path: "/api/v1/" + path + "/" + url.PathEscape(id) + "/kill"})
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
