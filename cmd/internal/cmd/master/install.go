package master

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/unit"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/master/config"
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
		Short: "Install a master as a service of this machine",
		Long: `Install a master as a service of this machine: check its configuration,
copy this program to ` + unit.Binary + `, write a systemd unit, enable and start
it. Run again after a change of the program, it restarts the master.`,
		Example: "  det-deploy master install --dry-run\n  det-deploy master install --yes",
		Args:    usage.Args(),
		RunE:    func(c *cobra.Command, _ []string) error { return run(c.Context(), o) },
	}
	c.Flags().StringVar(&o.ConfigFile, "config-file", config.DefaultMaster().ConfigFile, "master.yaml of the master")
	o.AddFlags(c.Flags())
	return c
}

func runInstall(ctx context.Context, o *installOptions) error {
	cfg := config.DefaultMaster()
	if !o.Print {
		var err error
		if cfg, _, err = config.Load([]string{o.ConfigFile}, nil); err != nil {
			return err
		}
	}
	text, err := templates.MasterUnit{Binary: unit.Binary, ConfigFile: o.ConfigFile, DataDir: cfg.DataDir}.Render()
	if err != nil {
		return err
	}
	return o.Install(ctx, o.Streams, "master", unit.Unit{Name: "det-deploy-master.service", Text: text, DataDir: cfg.DataDir})
}
