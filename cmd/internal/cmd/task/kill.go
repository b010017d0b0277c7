package task

import (
	"context"
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

func newKill(s *term.Streams) *cobra.Command {
	return command.NewRemote(s, &command.Remote{Names: client.Tasks, Open: true}, runKill, &cobra.Command{
		Use:     "kill TASK…",
		Aliases: []string{"rm", "stop"},
		Short:   "Kill tasks, or all tasks of an array",
		Long:    "Kill tasks immediately. Ended tasks are not changed. The ID of an array kills all of its tasks,\nand that of a trial's task the trial.",
		Example: "  det-deploy task kill 5d1f6f2e-0f7e-4d8e-9d3b-0c3c1d1c2b3a",
	})
}

func runKill(ctx context.Context, o *command.Remote, master *client.Client) error {
	killed, err := command.ForEach(o.Args, func(id string) ([]*apiv1.Command, error) {
		before, err := master.CommandDetail(ctx, id)
		if client.KindOf(err) == client.NotFound {
			return killOther(ctx, o, master, id, err)
		}
		if err == nil {
			err = master.Kill(ctx, before.GetCommand().GetTaskType(), id)
		}
		if err != nil {
			return nil, err
		}
		o.Tell(killNote(before.GetCommand()), id)
		after, err := master.CommandDetail(ctx, id)
		return []*apiv1.Command{after.GetCommand()}, err
	})
	return errors.Join(err, o.AnswerJSON(&apiv1.GetCommandsResponse{Commands: slices.Concat(killed...)}))
}

// killNote returns the message about a task that was killed, from its state before.
func killNote(before *apiv1.Command) string {
	switch {
	case !hasEnded(before):
		return "Killed task %s."
	case before.GetTaskType() == apiv1.TaskType_TASK_TYPE_GENERIC:
		return "Task %s had already ended. Its children, if any still ran, are killed."
	}
	return "Task %s has already ended."
}

// killOther kills the trial of a task, or the tasks of an array. It returns noTask if there is neither.
func killOther(ctx context.Context, o *command.Remote, master *client.Client, id string, noTask error) ([]*apiv1.Command, error) {
	if err := killTrial(ctx, o, master, id, noTask); !errors.Is(err, noTask) {
		return nil, err
	}
	_, err := master.ArrayCommands(ctx, id)
	if client.KindOf(err) == client.NotFound {
		return nil, noTask
	}
	if err != nil {
		return nil, err
	}
	n, err := master.KillArray(ctx, id)
	if err != nil {
		return nil, err
	}
	if n == 0 {
		o.Tell("All tasks of array %s have already ended.", id)
	} else {
		o.Tell("Killed %s of array %s.", term.Count(n, "task"), id)
	}
	return master.ArrayCommands(ctx, id)
}
