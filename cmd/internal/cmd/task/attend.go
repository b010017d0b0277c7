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

// partingLimit is how long the last calls after Ctrl-C may take: a person who
// wants to leave does not wait longer.
const partingLimit = 15 * time.Second

// attendTask shows what a task prints until it ends, and ends with its code.
func (o *runOptions) attendTask(ctx context.Context, master *client.Client, id string) error {
	err := o.followLog(ctx, master, id)
	if ctx.Err() != nil {
		return o.handleInterrupt(ctx, master, id)
	}
	if err != nil {
		o.Notef("The task runs on. Follow it with: det-deploy task logs --follow %s", id)
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

// followLog prints the task's lines on stdout as they come.
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

// handleInterrupt is what the first Ctrl-C does: ask whether to kill the task, or kill it
// where there is no terminal to ask on. The context of the command is over by then.
func (o *runOptions) handleInterrupt(ctx context.Context, master *client.Client, id string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), partingLimit)
	defer cancel()
	kill := true
	if o.CanAsk() {
		o.Notef("")
		answer, err := o.Confirm(ctx, term.Question{Text: "Kill the task too? Otherwise it runs on."})
		kill = err == nil && answer
	}
	if !kill {
		o.Notef("Follow it with: det-deploy task logs --follow %s", id)
		return exit.With(exit.Interrupted, &leftError{id})
	}
	if _, err := master.Kill(ctx, id); err != nil {
		return exit.With(exit.NotTheTask, err)
	}
	o.Notef("Task %s is killed. Read its log with: det-deploy task logs %s", id, id)
	return exit.With(exit.Interrupted, nil)
}

// leftError is a task that was left to itself.
type leftError struct{ id string }

func (e *leftError) Error() string { return "interrupted; task " + e.id + " runs on" }
func (e *leftError) Hint() string  { return "det-deploy task kill " + e.id }

// taskOutcome is what `task run` ends with: the task's own code, or 125 when the
// cluster could not bring it to one.
func taskOutcome(c *apiv1.Command) error {
	if c.ExitCode != nil {
		if code := c.GetExitCode(); code != 0 {
			return exit.With(exit.Code(code), nil)
		}
		return nil
	}
	return exit.With(exit.NotTheTask, &failedError{id: c.GetId(), status: c.GetExitStatus()})
}

// failedError is a task that ended without its program having said how.
type failedError struct{ id, status string }

func (e *failedError) Error() string {
	if e.status == "" {
		return "task " + e.id + " ended without an exit code"
	}
	return "task " + e.id + " ended without an exit code: " + e.status
}

func (e *failedError) Hint() string { return "det-deploy task describe " + e.id }
