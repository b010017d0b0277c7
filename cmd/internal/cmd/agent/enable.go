package agent

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/contexts"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
)

type enableOptions struct {
	*term.Streams
	contexts.Target
	which
}

func newEnable(s *term.Streams, run func(context.Context, *enableOptions) error) *cobra.Command {
	o := &enableOptions{Streams: s}
	c := &cobra.Command{
		Use:     "enable [AGENT…]",
		Short:   "Let tasks start on agents again",
		Example: "  det-deploy agent enable i-0abc\n  det-deploy agent enable i-0abc --slot 3\n  det-deploy agent enable --all",
		RunE: func(c *cobra.Command, args []string) error {
			o.IDs = args
			if err := o.validate(); err != nil {
				return err
			}
			return run(c.Context(), o)
		},
	}
	c.Flags().BoolVarP(&o.All, "all", "a", false, "all agents")
	c.Flags().StringVar(&o.Slot, "slot", "", "only this slot of the agent")
	o.AddFlag(c.Flags())
	return c
}

func runEnable(ctx context.Context, o *enableOptions) error {
	master, err := o.Dial(o.Streams)
	if err != nil {
		return err
	}
	defer master.Close()
	return o.each(ctx, master, func(id string) error {
		if o.Slot != "" {
			if _, err := master.EnableSlot(ctx, id, o.Slot); err != nil {
				return err
			}
			o.Notef("Slot %s of agent %s is enabled.", o.Slot, id)
			return nil
		}
		if _, err := master.EnableAgent(ctx, id); err != nil {
			return err
		}
		o.Notef("Agent %s is enabled.", id)
		return nil
	})
}
