package host

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
)

type drainOptions struct {
	command.Base

	DataDir string
}

func newDrain(s *term.Streams) *cobra.Command {
	o := &drainOptions{}
	c := command.New(s, o, runDrain, &cobra.Command{
		Use:   "drain",
		Short: "Wait for the tasks of a machine that is shutting down",
		Long: `Wait for the tasks of a machine that is shutting down. The systemd unit of an agent runs
it before it stops the agent, because Google Cloud shuts a machine down while it
announces a preemption. It waits at most 25 seconds until the master knows the end of
every task. On a machine that is not shutting down, it returns immediately.`,
		Example: "  det-deploy host drain --data-dir /var/lib/determined-agent",
	})
	c.Flags().StringVar(&o.DataDir, "data-dir", "", "data directory of the agent")
	return c
}

func (o *drainOptions) Validate() error {
	if o.DataDir == "" {
		return usage.Errorf("--data-dir is missing")
	}
	return nil
}

func runDrain(ctx context.Context, o *drainOptions) error {
	return wire.DrainMachine(ctx, o.DataDir, o.Err, o.ErrTerminal())
}
