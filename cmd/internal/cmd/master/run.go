package master

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	given "github.com/det-deploy/det-deploy/cmd/internal/config"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
)

type runOptions struct {
	command.Base
	configFile

	ShowConfig bool
	OnHold     bool
}

func newRun(s *term.Streams) *cobra.Command {
	o := &runOptions{}
	c := command.New(s, o, runRun, &cobra.Command{
		Use:   "run",
		Short: "Run a master in the foreground",
		Long: `Run a master in the foreground until it is interrupted. Tasks and agents keep running;
the next master re-attaches.

Settings come from master.yaml, DET_* variables and flags, in increasing order of
precedence. The default of --config-file is the first existing file of
/etc/determined/master.yaml, /usr/local/determined/etc/master.yaml and
/usr/local/pedl/etc/master.yaml. On Kubernetes, the Helm chart sets --from-helm-values.

With --on-hold the master tests its store on a copy, reports the result at /info, and
rejects all other requests. An upgrade uses this while it can still be rolled back.`,
		Example: `  det-deploy master run --config-file master.yaml
  det-deploy master run --data-dir /srv/master --port 9000 --show-config`,
		Args: cobra.NoArgs,
	})
	o.addFlags(c.Flags())
	c.Flags().BoolVar(&o.ShowConfig, "show-config", false, "print all settings with their sources, run nothing")
	c.Flags().BoolVar(&o.OnHold, "on-hold", false, "test the store on a copy, serve nothing")
	return c
}

func runRun(ctx context.Context, o *runOptions) error {
	l, err := o.loadConfig(o.Streams)
	if err != nil {
		return err
	}
	if o.ShowConfig {
		return o.PrintSettings(given.Settings(l.Master, l.Document))
	}
	if err := o.listRefusals(l); err != nil {
		return err
	}
	return wire.RunMaster(ctx, l.Master, wire.MasterOptions{Out: o.Err, Terminal: o.ErrTerminal(), OnHold: o.OnHold})
}
