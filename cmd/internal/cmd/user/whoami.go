package user

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/contexts"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
)

type whoamiOptions struct {
	*term.Streams
	contexts.Target

	Output term.Format
}

func newWhoami(s *term.Streams, run func(context.Context, *whoamiOptions) error) *cobra.Command {
	o := &whoamiOptions{Streams: s}
	c := &cobra.Command{
		Use:     "whoami",
		Short:   "Print the logged-in user",
		Example: "  det-deploy user whoami",
		Args:    usage.Args(),
		RunE:    func(c *cobra.Command, _ []string) error { return run(c.Context(), o) },
	}
	o.AddFlag(c.Flags())
	o.Output.AddFlag(c.Flags())
	return c
}

func runWhoami(ctx context.Context, o *whoamiOptions) error {
	master, err := o.Dial(o.Streams)
	if err != nil {
		return err
	}
	defer master.Close()
	me, err := master.Me(ctx)
	if err != nil {
		return err
	}
	if o.Output == term.JSON {
		return o.PrintMessage(me)
	}
	o.Printf("%s", me.GetUsername())
	return nil
}
