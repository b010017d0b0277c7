package user

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/contexts"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

type activateOptions struct {
	*term.Streams
	contexts.Target

	Name   string
	Active bool
	Output term.Format
}

func newActivate(s *term.Streams, run func(context.Context, *activateOptions) error) *cobra.Command {
	o := &activateOptions{Streams: s, Active: true}
	c := &cobra.Command{
		Use:     "activate USER",
		Short:   "Activate a user",
		Example: "  det-deploy user activate ada",
		Args:    usage.Args("USER"),
		RunE: func(c *cobra.Command, args []string) error {
			o.Name = args[0]
			return run(c.Context(), o)
		},
	}
	o.AddFlag(c.Flags())
	o.Output.AddFlag(c.Flags())
	return c
}

func newDeactivate(s *term.Streams, run func(context.Context, *activateOptions) error) *cobra.Command {
	o := &activateOptions{Streams: s}
	c := &cobra.Command{
		Use:     "deactivate USER",
		Short:   "Deactivate a user and end their sessions",
		Example: "  det-deploy user deactivate ada",
		Args:    usage.Args("USER"),
		RunE: func(c *cobra.Command, args []string) error {
			o.Name = args[0]
			return run(c.Context(), o)
		},
	}
	o.AddFlag(c.Flags())
	o.Output.AddFlag(c.Flags())
	return c
}

func runActivate(ctx context.Context, o *activateOptions) error {
	u, err := patchUser(ctx, o.Streams, o.Target, o.Name, &apiv1.PatchUser{Active: &o.Active})
	switch {
	case err != nil:
		return err
	case o.Output == term.JSON:
		return o.PrintMessage(u)
	case o.Active:
		o.Notef("User %s is active.", o.Name)
	default:
		o.Notef("User %s is not active.", o.Name)
	}
	return nil
}
