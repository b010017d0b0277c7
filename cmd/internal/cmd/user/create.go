package user

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

type createOptions struct {
	command.Remote
	passwordSource

	DisplayName string
	Admin       bool
}

func newCreate(s *term.Streams) *cobra.Command {
	o := &createOptions{}
	c := command.NewRemote(s, o, runCreate, &cobra.Command{
		Use: "create USER", Short: "Create an active user",
		Example: "  det-deploy user create ada --admin\n  det-deploy user create ci --password-stdin < password.txt",
	})
	c.Flags().BoolVar(&o.Admin, "admin", false, "administrator rights")
	c.Flags().StringVar(&o.DisplayName, "display-name", "", "display name")
	o.addFlag(c)
	return c
}

func runCreate(ctx context.Context, o *createOptions, master *client.Client) error {
	secret, err := o.readTwice(ctx, o.Streams, o.Args[0])
	if err != nil {
		return err
	}
	u, err := master.CreateUser(ctx, &apiv1.User{
		Username: o.Args[0], DisplayName: o.DisplayName, Admin: o.Admin, Active: true,
	}, secret)
	if err != nil {
		return err
	}
	return o.AnswerNote(u, "Created user %s.", u.GetUsername())
}
