package user

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/contexts"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

type createOptions struct {
	*term.Streams
	contexts.Target
	password

	Name        string
	DisplayName string
	Admin       bool
	Output      term.Format
}

func newCreate(s *term.Streams, run func(context.Context, *createOptions) error) *cobra.Command {
	o := &createOptions{Streams: s}
	c := &cobra.Command{
		Use:     "create USER",
		Short:   "Create a user, who is active at once",
		Example: "  det-deploy user create ada --admin\n  det-deploy user create ci --password-stdin < password.txt",
		Args:    usage.Args("USER"),
		RunE: func(c *cobra.Command, args []string) error {
			o.Name = args[0]
			return run(c.Context(), o)
		},
	}
	c.Flags().BoolVar(&o.Admin, "admin", false, "administrator rights")
	c.Flags().StringVar(&o.DisplayName, "display-name", "", "display name")
	o.addFlag(c)
	o.AddFlag(c.Flags())
	o.Output.AddFlag(c.Flags())
	return c
}

func runCreate(ctx context.Context, o *createOptions) error {
	master, err := o.Dial(o.Streams)
	if err != nil {
		return err
	}
	defer master.Close()
	secret, err := o.readTwice(ctx, o.Streams, o.Name)
	if err != nil {
		return err
	}
	u, err := master.CreateUser(ctx, &apiv1.User{
		Username: o.Name, DisplayName: o.DisplayName, Admin: o.Admin, Active: true,
	}, secret)
	if err != nil {
		return err
	}
	if o.Output == term.JSON {
		return o.PrintMessage(u)
	}
	o.Notef("User %s is created.", u.GetUsername())
	return nil
}
