package agent

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/agent/config"
	"github.com/det-deploy/det-deploy/cmd/internal/command"
	given "github.com/det-deploy/det-deploy/cmd/internal/config"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
)

type runOptions struct {
	command.Base
	configFile

	ShowConfig bool
}

func newRun(s *term.Streams) *cobra.Command {
	o := &runOptions{}
	c := command.New(s, o, runRun, &cobra.Command{
		Use:   "run",
		Short: "Run an agent in the foreground",
		Long: `Run an agent in the foreground until it is interrupted. Containers keep running; the
next agent re-attaches.

Settings come from agent.yaml, DET_* variables and flags, in increasing order of
precedence. The default of --config-file is /etc/determined/agent.yaml, if it exists.`,
		Example: `  det-deploy agent run --master-host master.example.com --join-token-file join-token
  det-deploy agent run --config-file agent.yaml --show-config`,
		Args: cobra.NoArgs,
	})
	o.addFlags(c.Flags())
	c.Flags().BoolVar(&o.ShowConfig, "show-config", false, "print all settings with their sources, run nothing")
	return c
}

func runRun(ctx context.Context, o *runOptions) error {
	l, err := o.loadConfig(o.Streams)
	if err != nil {
		return err
	}
	if o.ShowConfig {
		return o.PrintSettings(given.Settings(l.Agent, l.Document))
	}
	if err := listUnbuilt(l); err != nil {
		return err
	}
	return wire.RunAgent(ctx, l.Agent, overlayConfig(o.configFile), o.Err, o.ErrTerminal())
}

// overlayConfig returns a function that merges the configuration sent by the master over this agent's
// file. The flags and variables of the agent take precedence over both.
func overlayConfig(c configFile) func([]byte) (config.Agent, error) {
	return func(b []byte) (config.Agent, error) {
		overrides, err := given.Given(c.flags, config.Overrides())
		if err != nil {
			return config.Agent{}, err
		}
		l, err := config.LoadUnder(c.files, b, overrides)
		return l.Agent, err
	}
}

type sweepOptions struct {
	command.Base
	configFile
}

// newSweep returns the hidden command that `local down` and `agent uninstall` run for an agent.
func newSweep(s *term.Streams) *cobra.Command {
	o := &sweepOptions{}
	c := command.New(s, o, runSweep, &cobra.Command{
		Use:     "sweep",
		Short:   "Stop and remove every container that an agent left",
		Example: "  det-deploy agent sweep --config-file agent.yaml",
		Hidden:  true,
	})
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
