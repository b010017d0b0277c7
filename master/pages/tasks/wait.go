package tasks

import (
	"html/template"
	"strings"

	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/pages/logview"
	"github.com/det-deploy/det-deploy/master/pages/ui"
)

// waitPath begins the addresses that clients print for the web pages of tasks. The det client appends the kind,
// the name and the pool of the task.
const waitPath = ui.Root + "interactive/"

var waitPage = ui.MustParse(files, "wait.html")

// wait is the data of wait.html.
type wait struct {
	*apiv1.Command

	Kind, Path string
	// Step says what the task waits for, and Ended that it does not wait any more.
	Step  string
	Ended bool
	Queue *apiv1.QueuePlace
	Lines template.HTML
}

// showWait waits until the web page of a task is ready, and goes on to it.
func showWait(v *ui.Visit) error {
	service := v.PathValue("id")
	id, _, _ := strings.Cut(service, ":")
	detail, err := v.API.CommandDetail(v.Context(), id)
	if err != nil {
		return err
	}
	c := detail.GetCommand()
	if c.GetTaskType() == apiv1.TaskType_TASK_TYPE_SHELL {
		return v.Redirect(Path(id))
	}
	whole, err := v.API.Task(v.Context(), id)
	if err != nil {
		return err
	}
	if isReady(c, whole) {
		return openService(v, service)
	}
	w := newWait(detail)
	w.Lines, err = logview.Last(v.Context(), logview.OfTask(v.API, id), lastLines)
	if err != nil && client.KindOf(err) != client.Forbidden {
		return err
	}
	return v.Show(waitPage, title(c), w)
}

// openService goes on to a service, with a ticket of the visitor.
func openService(v *ui.Visit, service string) error {
	address, err := v.API.OpenService(v.Context(), service)
	if err != nil {
		return err
	}
	return v.Redirect(strings.TrimPrefix(address, v.API.URL()))
}

// isReady reports whether the web page of a task may be visited. Commands do not report that they are ready.
func isReady(c *apiv1.Command, whole *apiv1.GetTaskResponse) bool {
	list := whole.GetTask().GetAllocations()
	if len(list) == 0 || c.GetEndTime() != nil || apiv1.Status(c.GetStatus()) != apiv1.StatusRunning {
		return false
	}
	return list[0].GetIsReady() || !kindOf(c).isPage
}

func newWait(detail *apiv1.GetCommandResponse) wait {
	c := detail.GetCommand()
	return wait{
		Command: c, Kind: kindOf(c).Noun, Path: Path(c.GetId()), Queue: detail.GetQueue(), Ended: c.GetEndTime() != nil, Step: step(c),
	}
}

// step returns the sentence about the state of a task whose web page is not ready.
func step(c *apiv1.Command) string {
	noun := kindOf(c).Noun
	if c.GetEndTime() != nil {
		return "The " + noun + " has ended. There is nothing to open any more."
	}
	switch apiv1.Status(c.GetStatus()) {
	case apiv1.StatusPulling:
		return "The image is being pulled."
	case apiv1.StatusStarting, apiv1.StatusScheduled:
		return "The container is being started."
	case apiv1.StatusRunning:
		return "The program has started. Its page is not ready yet."
	default:
		return "The " + noun + " waits for its slots in the resource pool " + c.GetResourcePool() + "."
	}
}
