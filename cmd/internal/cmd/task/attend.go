package task

import (
	"context"
	"time"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/exit"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// partingLimit is the time limit for the last calls after Ctrl-C. It is short because the user is waiting
// to leave.
const partingLimit = 15 * time.Second

// attendTask prints a task's output until the task ends, and returns its exit code.
func (o *runOptions) attendTask(ctx context.Context, master *client.Client, id string) error {
	err := o.followLog(ctx, master, id)
	if ctx.Err() != nil {
		return o.handleInterrupt(ctx, master, id)
	}
	if err != nil {
		o.Notef("The task continues. Follow it with: det-deploy task logs --follow %s", id)
		return exit.With(exit.NotTheTask, err)
	}
	reply, err := master.Command(ctx, id)
	if ctx.Err() != nil {
		return o.handleInterrupt(ctx, master, id)
	}
	if err != nil {
		return exit.With(exit.NotTheTask, err)
	}
	return taskOutcome(reply.GetCommand())
}

// followLog prints the task's output on stdout as it arrives.
func (o *runOptions) followLog(ctx context.Context, master *client.Client, id string) error {
	for line, err := range master.Logs(ctx, id, client.LogQuery{Follow: true}) {
		if err != nil {
			return err
		}
		if err := command.PrintLogLine(o.Streams, line); err != nil {
			return err
		}
	}
	return nil
}

// handleInterrupt handles the first Ctrl-C. It asks whether to kill the task, or kills it if there is no
// terminal. The context of the command is already canceled.
func (o *runOptions) handleInterrupt(ctx context.Context, master *client.Client, id string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), partingLimit)
	defer cancel()
	kill := true
	if o.CanAsk() {
		o.Notef("")
		answer, err := o.Confirm(ctx, term.Question{Text: "Kill the task, too?"})
		kill = err == nil && answer
	}
	if !kill {
		o.Notef("Follow it with: det-deploy task logs --follow %s", id)
		return exit.With(exit.Interrupted, &leftError{id})
	}
	if _, err := master.Kill(ctx, id); err != nil {
		return exit.With(exit.NotTheTask, err)
	}
	o.Notef("Killed task %s. Read its log with: det-deploy task logs %s", id, id)
	return exit.With(exit.Interrupted, nil)
}

// leftError reports that the command was interrupted and its task continues.
type leftError struct{ id string }

func (e *leftError) Error() string { return "interrupted; task " + e.id + " continues" }
func (e *leftError) Hint() string  { return "det-deploy task kill " + e.id }

// taskOutcome returns the result of `task run`: the task's exit code, or 125 if the task ended without
// one.
func taskOutcome(c *apiv1.Command) error {
	if c.ExitCode != nil {
		if code := c.GetExitCode(); code != 0 {
			return exit.With(exit.Code(code), nil)
		}
		return nil
	}
	return exit.With(exit.NotTheTask, &failedError{id: c.GetId(), status: c.GetExitStatus()})
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
