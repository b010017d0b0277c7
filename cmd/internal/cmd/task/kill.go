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

func newKill(s *term.Streams) *cobra.Command {
	return command.NewRemote(s, &command.Remote{}, runKill, &cobra.Command{
		Use:     "kill TASK…",
		Short:   "Kill tasks",
		Long:    "End tasks at once. One that has ended already stays as it is.",
		Example: "  det-deploy task kill 5d1f6f2e-0f7e-4d8e-9d3b-0c3c1d1c2b3a",
	})
}

func runKill(ctx context.Context, o *command.Remote, master *client.Client) error {
	killed, err := command.ForEach(o.Args, func(id string) (*apiv1.Command, error) {
		c, err := master.Kill(ctx, id)
		if err == nil {
			o.Tell("Task %s is killed.", id)
		}
		return c, err
	})
	return errors.Join(err, o.AnswerJSON(&apiv1.GetCommandsResponse{Commands: killed}))
}
