package agent

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
)

type sweepOptions struct {
	*term.Streams
	configFile
}

// newSweep is what `local down` runs for each agent; it is not for users.
func newSweep(s *term.Streams, run func(context.Context, *sweepOptions) error) *cobra.Command {
	o := &sweepOptions{Streams: s}
	c := &cobra.Command{
		Use:     "sweep",
		Short:   "Stop and remove every container that an agent left",
		Example: "  det-deploy agent sweep --config-file agent.yaml",
		Hidden:  true,
		Args:    usage.Args(),
		RunE:    func(c *cobra.Command, _ []string) error { return run(c.Context(), o) },
	}
	o.addFlags(c.Flags())
	return c
}

func runSweep(ctx context.Context, o *sweepOptions) error {
	l, err := o.loadConfig(o.Streams)
	if err != nil {
		return err
	}
	return wire.SweepAgent(ctx, l.Agent, o.Err, o.ErrTerminal())
}
