package tasks

import (
	"context"

	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// kind is a kind of tasks.
type kind struct {
	// Noun names the kind, as in addresses.
	Noun string
	// start launches a task of the kind and returns its ID; nil if there is no form for it.
	start func(ctx context.Context, api *client.Client, in order) (started, error)
	// program reports that the form asks for a program, and subjects that it asks for experiments and trials.
	program, subjects bool
	// isPage reports that each task has a web page.
	isPage bool
	// shared reports that all users may open it.
	shared bool
	// lost says what a user loses with a task.
	lost string
}

// order is a task to start.
type order struct {
	*apiv1.LaunchCommandRequest

	// experiments and trials are those that a TensorBoard shows.
	experiments, trials []int32
}

// started is a task that was launched.
type started struct {
	id string
	// exceeds reports that it waits for more slots than there are.
	exceeds bool
}

// kinds returns the kinds of tasks by their type in the API.
func kinds() map[apiv1.TaskType]kind {
	return map[apiv1.TaskType]kind{
		apiv1.TaskType_TASK_TYPE_COMMAND: {Noun: "command", start: startCommand, program: true},
		apiv1.TaskType_TASK_TYPE_SHELL: {
			Noun: "shell", start: startShell, lost: "Open connections end, and files outside of mounted directories are lost.",
		},
		apiv1.TaskType_TASK_TYPE_TENSORBOARD: {
			Noun: "TensorBoard", start: startTensorboard, subjects: true, isPage: true, shared: true,
		},
		apiv1.TaskType_TASK_TYPE_NOTEBOOK: {
			Noun: "notebook", start: startNotebook, isPage: true, lost: "Files outside of mounted directories are lost.",
		},
		apiv1.TaskType_TASK_TYPE_GENERIC: {
			Noun: "generic task", lost: "The tasks that it has created are killed, too.",
		},
	}
}

// startable are the kinds with a form, in its order.
var startable = []apiv1.TaskType{apiv1.TaskType_TASK_TYPE_COMMAND, apiv1.TaskType_TASK_TYPE_NOTEBOOK, apiv1.TaskType_TASK_TYPE_TENSORBOARD, apiv1.TaskType_TASK_TYPE_SHELL}

// kindOf returns the kind of a task.
func kindOf(c *apiv1.Command) kind {
	if k, found := kinds()[c.GetTaskType()]; found {
		return k
	}
	return kind{Noun: "task"}
}

func startCommand(ctx context.Context, api *client.Client, in order) (started, error) {
	out, err := api.Launch(ctx, in.LaunchCommandRequest)
	return started{out.GetCommand().GetId(), exceeds(out.GetWarnings())}, err
}

func startShell(ctx context.Context, api *client.Client, in order) (started, error) {
	out, err := api.LaunchShell(ctx, in.LaunchCommandRequest)
	return started{out.GetShell().GetId(), exceeds(out.GetWarnings())}, err
}

func startTensorboard(ctx context.Context, api *client.Client, in order) (started, error) {
	out, err := api.LaunchTensorboard(ctx, &apiv1.LaunchTensorboardRequest{
		ExperimentIds: in.experiments, TrialIds: in.trials, Config: in.GetConfig(), TemplateName: in.GetTemplateName(),
	})
	return started{out.GetTensorboard().GetId(), exceeds(out.GetWarnings())}, err
}

func startNotebook(ctx context.Context, api *client.Client, in order) (started, error) {
	out, err := api.LaunchNotebook(ctx, &apiv1.LaunchNotebookRequest{Config: in.GetConfig(), TemplateName: in.GetTemplateName()})
	return started{out.GetNotebook().GetId(), exceeds(out.GetWarnings())}, err
}

func exceeds(warnings []apiv1.LaunchWarning) bool {
	for _, w := range warnings {
		if w == apiv1.LaunchWarning_LAUNCH_WARNING_CURRENT_SLOTS_EXCEEDED {
			return true
		}
	}
	return false
}
