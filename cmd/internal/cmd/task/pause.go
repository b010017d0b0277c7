package task

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

func newPause(s *term.Streams) *cobra.Command {
	return command.NewRemote(s, &command.Remote{Names: client.Tasks, Open: true}, runPause, &cobra.Command{
		Use:   "pause TASK…",
		Short: "Pause generic tasks until they are resumed",
		Long: `Ask generic tasks, which "det task create" makes, to checkpoint and stop, with their children. They
release their slots and keep their place in the lists. Their programs have the time of
preemption_timeout to stop, and run again from their start after "det-deploy task resume".`,
		Example: "  det-deploy task pause 5d1f6f2e-0f7e-4d8e-9d3b-0c3c1d1c2b3a",
	})
}

func newResume(s *term.Streams) *cobra.Command {
	return command.NewRemote(s, &command.Remote{Names: client.Tasks, Open: true}, runResume, &cobra.Command{
		Use:     "resume TASK…",
		Aliases: []string{"unpause"},
		Short:   "Queue paused tasks again",
		Long:    `Queue generic tasks that were paused again, with their children.`,
		Example: "  det-deploy task resume 5d1f6f2e-0f7e-4d8e-9d3b-0c3c1d1c2b3a",
	})
}

func runPause(ctx context.Context, o *command.Remote, master *client.Client) error {
	return changeEach(ctx, o, master, master.Pause, "Task %s stops, and is paused until `det-deploy task resume`.")
}

func runResume(ctx context.Context, o *command.Remote, master *client.Client) error {
	return changeEach(ctx, o, master, master.Resume, "Resumed task %s.")
}

// changeEach changes tasks and prints them.
func changeEach(ctx context.Context, o *command.Remote, master *client.Client, change func(context.Context, string) error, told string) error {
	changed, err := command.ForEach(o.Args, func(id string) (*apiv1.Command, error) {
		if err := change(ctx, id); err != nil {
			return nil, err
		}
		o.Tell(told, id)
		reply, err := master.CommandDetail(ctx, id)
		return reply.GetCommand(), err
	})
	return errors.Join(err, o.AnswerJSON(&apiv1.GetCommandsResponse{Commands: changed}))
}
