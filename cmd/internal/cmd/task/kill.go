package task

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/contexts"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

type killOptions struct {
	*term.Streams
	contexts.Target

	IDs    []string
	Output term.Format
}

func newKill(s *term.Streams, run func(context.Context, *killOptions) error) *cobra.Command {
	o := &killOptions{Streams: s}
	c := &cobra.Command{
		Use:     "kill TASK…",
		Short:   "Kill tasks",
		Long:    "End tasks at once. One that has ended already stays as it is.",
		Example: "  det-deploy task kill 5d1f6f2e-0f7e-4d8e-9d3b-0c3c1d1c2b3a",
		Args:    usage.Args("TASK…"),
		RunE: func(c *cobra.Command, args []string) error {
			o.IDs = args
			return run(c.Context(), o)
		},
	}
	o.AddFlag(c.Flags())
	o.Output.AddFlag(c.Flags())
	return c
}

func runKill(ctx context.Context, o *killOptions) error {
	master, err := o.Dial(o.Streams)
	if err != nil {
		return err
	}
	defer master.Close()
	killed := &apiv1.GetCommandsResponse{}
	var errs []error
	for _, id := range o.IDs {
		command, err := master.Kill(ctx, id)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		killed.Commands = append(killed.Commands, command)
		if o.Output != term.JSON {
			o.Notef("Task %s is killed.", id)
		}
	}
	if o.Output == term.JSON {
		errs = append(errs, o.PrintMessage(killed))
	}
	return errors.Join(errs...)
}
