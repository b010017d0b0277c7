package user

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

type activateOptions struct {
	command.Remote

	Active bool
}

func newActivate(s *term.Streams) *cobra.Command {
	return command.NewRemote(s, &activateOptions{Remote: command.Remote{Names: client.Users}, Active: true}, runActivate, &cobra.Command{
		Use: "activate USER", Short: "Activate a user", Example: "  det-deploy user activate ada",
	})
}

func newDeactivate(s *term.Streams) *cobra.Command {
	return command.NewRemote(s, &activateOptions{Remote: command.Remote{Names: client.Users}}, runActivate, &cobra.Command{
		Use: "deactivate USER", Short: "Deactivate a user and end their sessions", Example: "  det-deploy user deactivate ada",
	})
}

func runActivate(ctx context.Context, o *activateOptions, master *client.Client) error {
	u, err := patchUser(ctx, master, o.Args[0], &apiv1.PatchUser{Active: &o.Active})
	if err != nil {
		return err
	}
	did := "Activated"
	if !o.Active {
		did = "Deactivated"
	}
	return o.AnswerNote(u, "%s user %s.", did, o.Args[0])
}
