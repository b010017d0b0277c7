package task

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/show"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// ended is the state of --for that stands for any end.
const ended = "ended"

func newWait(s *term.Streams) *cobra.Command {
	o := &command.Await{Remote: command.Remote{Names: client.Tasks}}
	c := command.NewRemote(s, o, runWait, &cobra.Command{
		Use:   "wait TASK…",
		Short: "Wait until tasks have ended or reached a state",
		Long: `Wait until all tasks, or all tasks of an array, have ended or reached the state of --for. A
task that has passed the state has reached it. If a task can no longer reach it, because it ended
otherwise, the command fails at once.`,
		Example: `  det-deploy task wait 5d1f6f2e
  det-deploy task wait --for succeeded --timeout 2h train evaluate
  det-deploy task wait --for running 5d1f6f2e`,
	})
	states := []string{ended, string(apiv1.StatusRunning)}
	for _, status := range apiv1.EndStatuses() {
		states = append(states, string(status))
	}
	o.AddAwaitFlags(c, states...)
	return c
}

func runWait(ctx context.Context, o *command.Await, master *client.Client) error {
	found, err := command.AwaitEach(ctx, o, func(ctx context.Context, id string) ([]*apiv1.Command, []string, error) {
		list, err := commandsOf(ctx, master, id)
		if err != nil {
			return nil, nil, err
		}
		open, err := openFor(o.For, list)
		return list, open, err
	})
	if err != nil {
		return err
	}
	all := &apiv1.GetCommandsResponse{Commands: slices.Concat(found...)}
	for _, c := range all.GetCommands() {
		o.Tell("Task %s: %s.", c.GetId(), stateWithCode(c))
	}
	return o.AnswerJSON(all)
}

// commandsOf returns a task, or the tasks of an array.
func commandsOf(ctx context.Context, master *client.Client, id string) ([]*apiv1.Command, error) {
	reply, err := master.Command(ctx, id)
	if client.KindOf(err) == client.NotFound {
		return findArray(ctx, master, id, err)
	}
	return []*apiv1.Command{reply.GetCommand()}, err
}

// openFor describes the tasks that have not reached a state. It returns an error if one of them cannot any
// more.
func openFor(state string, list []*apiv1.Command) (open []string, err error) {
	for _, c := range list {
		switch {
		case hasReached(state, c):
		case hasEnded(c):
			return nil, &missedError{state: state, c: c}
		default:
			open = append(open, fmt.Sprintf("task %s is %s", c.GetId(), show.TaskState(c)))
		}
	}
	return open, nil
}

// hasReached reports whether a task has reached a state or passed it.
func hasReached(state string, c *apiv1.Command) bool {
	switch state {
	case ended:
		return hasEnded(c)
	case string(apiv1.StatusRunning):
		ran := []string{string(apiv1.StatusRunning), string(apiv1.StatusSucceeded)}
		return slices.Contains(ran, show.TaskState(c)) || c.ExitCode != nil
	}
	return show.TaskState(c) == state
}

// stateWithCode returns the state of a task, with the exit code of one that failed.
func stateWithCode(c *apiv1.Command) string {
	if c.GetExitCode() == 0 {
		return show.TaskState(c)
	}
	return fmt.Sprintf("%s with exit code %d", show.TaskState(c), c.GetExitCode())
}

// missedError reports a task that cannot reach a state any more.
type missedError struct {
	state string
	c     *apiv1.Command
}

func (e *missedError) Error() string {
	return fmt.Sprintf("task %s is not %s: it is %s", e.c.GetId(), e.state, stateWithCode(e.c))
}

func (e *missedError) Hint() string { return "det-deploy task describe " + e.c.GetId() }
