package tasks

import (
	"html/template"
	"time"

	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/pages/logview"
	"github.com/det-deploy/det-deploy/master/pages/ui"
)

// lastLines is the number of lines of the log on the page of a task.
const lastLines = 20

func showTask(v *ui.Visit) error {
	id, ctx := v.PathValue("id"), v.Context()
	detail, err := v.API.CommandDetail(ctx, id)
	if client.KindOf(err) == client.NotFound {
		return showOther(v, id, err)
	}
	if err != nil {
		return err
	}
	whole, err := v.API.Task(ctx, id)
	if err != nil {
		return err
	}
	lines, err := logview.Last(ctx, logview.OfTask(v.API, id), lastLines)
	private := client.KindOf(err) == client.Forbidden
	if err != nil && !private {
		return err
	}
	t := newTask(detail, whole, v.User, v.Now)
	t.Lines, t.PrivateLog = lines, private
	return v.Show(taskPage, title(detail.GetCommand()), t)
}

// showOther sends the visitor of the task of a trial to its log. noTask is the error if there is no such task.
func showOther(v *ui.Visit, id string, noTask error) error {
	if _, err := v.API.Task(v.Context(), id); err != nil {
		return noTask
	}
	return v.Redirect(Path(id) + "/logs")
}

func title(c *apiv1.Command) string {
	if c.GetDescription() != "" {
		return c.GetDescription()
	}
	return kindOf(c).Noun + " " + c.GetId()
}

// task is the data of task.html.
type task struct {
	*apiv1.Command

	Kind, Path string
	Took       time.Duration
	Tags       []string
	Queue      *apiv1.QueuePlace
	Machines   []machine
	Attempts   []attempt
	// Config is the configuration, and Image its image.
	Config, Image string
	// Open is the address of its web page, if it has one that the visitor may open.
	Open string
	// MayKill reports that the visitor may kill it.
	MayKill bool
	// Pausing is "pause" or "resume" for a task that the visitor may pause or resume.
	Pausing string

	Lines      template.HTML
	PrivateLog bool
}

func newTask(detail *apiv1.GetCommandResponse, whole *apiv1.GetTaskResponse, by *apiv1.User, now time.Time) task {
	c := detail.GetCommand()
	t := task{
		Command: c, Kind: kindOf(c).Noun, Path: Path(c.GetId()), Took: took(c, now), Tags: tags(c), Queue: detail.GetQueue(),
		Machines: machinesOf(whole), Attempts: attemptsOf(whole), Config: ui.Indented(detail.GetConfig()), Image: imageOf(detail.GetConfig(), c),
	}
	mine := by.GetAdmin() || by.GetId() == c.GetUserId()
	t.MayKill = mine && c.GetEndTime() == nil
	t.Pausing = pausing(c, t.MayKill)
	mayOpen := c.GetEndTime() == nil && (mine || kindOf(c).shared)
	if mayOpen && (kindOf(c).isPage || hasWebPage(detail.GetConfig())) {
		t.Open = waitPath + c.GetId() + "/"
	}
	return t
}

// pausing returns what a user who may kill a task can do about its pause. Only generic tasks have pauses.
func pausing(c *apiv1.Command, mayKill bool) string {
	switch {
	case !mayKill || c.GetTaskType() != apiv1.TaskType_TASK_TYPE_GENERIC:
		return ""
	case apiv1.Status(c.GetStatus()) == apiv1.StatusPaused:
		return "resume"
	}
	return "pause"
}

func pauseTask(v *ui.Visit) error {
	if err := v.API.Pause(v.Context(), v.PathValue("id")); err != nil {
		return err
	}
	return v.Done(Path(v.PathValue("id")), "The task is being paused.")
}

func resumeTask(v *ui.Visit) error {
	if err := v.API.Resume(v.Context(), v.PathValue("id")); err != nil {
		return err
	}
	return v.Done(Path(v.PathValue("id")), "The task is queued again.")
}

func askKill(v *ui.Visit) error {
	id := v.PathValue("id")
	detail, err := v.API.CommandDetail(v.Context(), id)
	if err != nil {
		return err
	}
	c := detail.GetCommand()
	if c.GetEndTime() != nil {
		return v.Done(Path(id), "The task has already ended.")
	}
	return v.Confirm(killQuestion(c))
}

func killQuestion(c *apiv1.Command) ui.Confirmation {
	q := ui.Confirmation{
		Question: "Kill " + kindOf(c).Noun + " “" + title(c) + "”?", Button: "Kill", Back: Path(c.GetId()),
		Effects: []string{"Its processes are asked to stop and are killed soon afterwards. Its log stays."},
	}
	if lost := kindOf(c).lost; lost != "" {
		q.Effects = append(q.Effects, lost)
	}
	return q
}

func killTask(v *ui.Visit) error {
	id := v.PathValue("id")
	detail, err := v.API.CommandDetail(v.Context(), id)
	if err != nil {
		return err
	}
	if err := v.API.Kill(v.Context(), detail.GetCommand().GetTaskType(), id); err != nil {
		return err
	}
	return v.Done(Path(id), "The "+kindOf(detail.GetCommand()).Noun+" is being killed.")
}
