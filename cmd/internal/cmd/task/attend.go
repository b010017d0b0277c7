package task

import (
	"context"
	"errors"
	"time"

	"github.com/det-deploy/det-deploy/cmd/internal/exit"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// stopLimit is the time limit for the request to kill the task after Ctrl-C. It is short because the user is
// waiting to leave.
const stopLimit = 15 * time.Second

// attendTask prints a task's output until the task ends, and returns its exit code. The first Ctrl-C kills
// the task, whose end is awaited; the second ends the process.
func (o *attended) attendTask(ctx context.Context, master *client.Client, c *apiv1.Command) error {
	attending, leave := context.WithCancel(context.WithoutCancel(ctx))
	defer leave()
	wait := o.showWait(attending, master, c)
	defer wait.end()
	stopped := make(chan error, 1)
	unstop := context.AfterFunc(ctx, func() {
		wait.end()
		err := o.stopTask(attending, master, c.GetId())
		if err != nil {
			leave()
		}
		stopped <- err
	})
	err := o.followTask(attending, master, c.GetId(), wait)
	wait.end()
	if !unstop() {
		return exit.With(exit.Canceled, <-stopped)
	}
	return err
}

// followTask prints the output of a task and returns its outcome.
func (o *attended) followTask(ctx context.Context, master *client.Client, id string, wait *waitView) error {
	if err := o.followLog(ctx, master, id, wait); err != nil {
		o.Notef("The task continues. Follow it with: det-deploy task logs --follow %s", id)
		return exit.With(exit.NotTheTask, err)
	}
	reply, err := master.Command(ctx, id)
	if err != nil {
		return exit.With(exit.NotTheTask, err)
	}
	wait.end()
	return o.tellOutcome(reply.GetCommand())
}

// followLog prints the task's output as it arrives.
func (o *attended) followLog(ctx context.Context, master *client.Client, id string, wait *waitView) error {
	output := o.newOutput(o.Streams)
	for line, err := range master.Logs(ctx, id, client.LogQuery{Follow: true}) {
		if err == nil {
			err = o.printLogLine(output, line, wait)
		}
		if err != nil {
			return errors.Join(err, output.endLines())
		}
	}
	return output.endLines()
}

func (o *attended) printLogLine(output *taskOutput, line *apiv1.TaskLogsResponse, wait *waitView) error {
	if line.GetSource() == masterSource {
		err := output.endLines()
		wait.interrupt(func(lives bool) { o.tellWords(o.Streams, line, lives) })
		return err
	}
	wait.end()
	return output.printLine(line)
}

// stopTask kills the task after the first Ctrl-C.
func (o *attended) stopTask(ctx context.Context, master *client.Client, id string) error {
	ctx, cancel := context.WithTimeout(ctx, stopLimit)
	defer cancel()
	o.Notef("Killing task %s. Ctrl-C again leaves now.", id)
	if err := master.Kill(ctx, apiv1.TaskType_TASK_TYPE_COMMAND, id); err != nil {
		o.Notef("The task continues. Kill it with: det-deploy task kill %s", id)
		return err
	}
	return nil
}

// tellOutcome returns the result of `task run`: the task's exit code, or 125 if the task ended without one.
func (o *attended) tellOutcome(c *apiv1.Command) error {
	if c.ExitCode == nil {
		return exit.With(exit.NotTheTask, &failedError{id: c.GetId(), status: c.GetExitStatus()})
	}
	code := c.GetExitCode()
	if code == 0 {
		return nil
	}
	switch {
	case o.Quiet:
	case c.GetReason() != "":
		o.Notef("Task %s failed with exit code %d: %s", c.GetId(), code, term.Harmless(c.GetReason()))
	default:
		o.Notef("Task %s failed with exit code %d.", c.GetId(), code)
	}
	return exit.With(exit.Code(code), nil)
}

// failedError reports a task that ended without an exit code.
type failedError struct{ id, status string }

func (e *failedError) Error() string {
	if e.status == "" {
		return "task " + e.id + " ended without an exit code"
	}
	return "task " + e.id + " ended without an exit code: " + e.status
}

func (e *failedError) Hint() string { return "det-deploy task describe " + e.id }
