package agent

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/agent/config"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/unit"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/templates"
)

type installOptions struct {
	*term.Streams
	unit.Options

	ConfigFile string
}

func newInstall(s *term.Streams, run func(context.Context, *installOptions) error) *cobra.Command {
	o := &installOptions{Streams: s}
	c := &cobra.Command{
		Use:   "install",
		Short: "Install an agent as a service of this machine",
		Long: `Install an agent as a service of this machine: check its configuration,
copy this program to ` + unit.Binary + `, write a systemd unit, enable and start
it. Run again after a change of the program, it restarts the agent.`,
		Example: "  det-deploy agent install --dry-run\n  det-deploy agent install --yes",
		Args:    usage.Args(),
		RunE:    func(c *cobra.Command, _ []string) error { return run(c.Context(), o) },
	}
	c.Flags().StringVar(&o.ConfigFile, "config-file", config.DefaultAgent().ConfigFile, "agent.yaml of the agent")
	o.AddFlags(c.Flags())
	return c
}

func runInstall(ctx context.Context, o *installOptions) error {
	cfg := config.DefaultAgent()
	if !o.Print {
		var err error
		if cfg, _, err = config.Load([]string{o.ConfigFile}, nil); err != nil {
			return err
		}
	}
	text, err := templates.AgentUnit{Binary: unit.Binary, ConfigFile: o.ConfigFile}.Render()
	if err != nil {
		return err
	}
	return o.Install(ctx, o.Streams, "agent", unit.Unit{Name: "det-deploy-agent.service", Text: text, DataDir: cfg.DataDir})
}
