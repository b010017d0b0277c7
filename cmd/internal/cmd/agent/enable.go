package agent

import (
	"context"
	"errors"

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
		Short:   "Enable agents",
		Example: "  det-deploy agent enable i-0abc\n  det-deploy agent enable i-0abc --slot 3\n  det-deploy agent enable --all",
		RunE: func(c *cobra.Command, args []string) error {
			o.IDs = args
			if err := o.validate(); err != nil {
				return err
			}
			return run(c.Context(), o)
		},
	}
	o.addFlags(c.Flags())
	o.AddFlag(c.Flags())
	return c
}

func runEnable(ctx context.Context, o *enableOptions) error {
	master, err := o.Dial(o.Streams)
	if err != nil {
		return err
	}
	defer master.Close()
	var done changed
	err = o.forEach(ctx, master, func(id string) error {
		if o.Slot != "" {
			slot, err := master.EnableSlot(ctx, id, o.Slot)
			if err != nil {
				return err
			}
			done.slots = append(done.slots, slot)
			o.printLine(o.Streams, "Slot %s of agent %s is enabled.", o.Slot, id)
			return nil
		}
		agent, err := master.EnableAgent(ctx, id)
		if err != nil {
			return err
		}
		done.agents = append(done.agents, agent)
		o.printLine(o.Streams, "Agent %s is enabled.", id)
		return nil
	})
	return errors.Join(err, o.printChanged(o.Streams, done))
}
