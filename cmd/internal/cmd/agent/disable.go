package agent

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/contexts"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
)

type disableOptions struct {
	*term.Streams
	contexts.Target
	which

	Drain bool
}

func newDisable(s *term.Streams, run func(context.Context, *disableOptions) error) *cobra.Command {
	o := &disableOptions{Streams: s}
	c := &cobra.Command{
		Use:   "disable [AGENT…]",
		Short: "Disable agents, or drain them",
		Long: `Keep tasks from starting on agents. Tasks that run there are killed, or, with
--drain, go on to their end.`,
		Example: "  det-deploy agent disable i-0abc --drain\n  det-deploy agent disable i-0abc --slot 3\n  det-deploy agent disable --all --drain",
		RunE: func(c *cobra.Command, args []string) error {
			o.IDs = args
			if err := o.validate(); err != nil {
				return err
			}
			return run(c.Context(), o)
		},
	}
	o.addFlags(c.Flags())
	c.Flags().BoolVar(&o.Drain, "drain", false, "let running tasks finish")
	o.AddFlag(c.Flags())
	return c
}

func runDisable(ctx context.Context, o *disableOptions) error {
	master, err := o.Dial(o.Streams)
	if err != nil {
		return err
	}
	defer master.Close()
	state := "disabled"
	if o.Drain {
		state = "draining: what runs there continues to its end"
	}
	var done changed
	err = o.forEach(ctx, master, func(id string) error {
		if o.Slot != "" {
			slot, err := master.DisableSlot(ctx, id, o.Slot, o.Drain)
			if err != nil {
				return err
			}
			done.slots = append(done.slots, slot)
			o.printLine(o.Streams, "Slot %s of agent %s is %s.", o.Slot, id, state)
			return nil
		}
		agent, err := master.DisableAgent(ctx, id, o.Drain)
		if err != nil {
			return err
		}
		done.agents = append(done.agents, agent)
		o.printLine(o.Streams, "Agent %s is %s.", id, state)
		return nil
	})
	return errors.Join(err, o.printChanged(o.Streams, done))
}
