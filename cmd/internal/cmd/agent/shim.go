package agent

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
)

type shimOptions struct {
	command.Base

	Socket string
}

// newShim is what an agent runs beside itself; it is not for users.
func newShim(s *term.Streams) *cobra.Command {
	o := &shimOptions{}
	c := command.New(s, o, runShim, &cobra.Command{
		Use:   "shim",
		Short: "Start the plain processes of an agent (internal)",
		Long: `Start the plain processes of an agent (internal). An agent that runs tasks as plain
processes starts this beside itself, as their parent; it is of no use to people.`,
		Example: "  det-deploy agent shim --socket /var/lib/determined-agent/shims/NAME.sock",
		Hidden:  true,
	})
	c.Flags().StringVar(&o.Socket, "socket", "", "socket of the agent, which is open already")
	return c
}

func (o *shimOptions) Validate() error {
	if o.Socket == "" {
		return usage.Errorf("--socket is missing")
	}
	return nil
}

func runShim(_ context.Context, o *shimOptions) error { return wire.ServeShim(o.Socket, o.Err) }
