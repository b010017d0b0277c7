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
		Long: `Run a master in the foreground until it is interrupted. Tasks and agents go on
without it, and it takes them up again when it is started the next time.

Settings come from master.yaml, over them DET_* variables, over those flags.
Without --config-file the first of /etc/determined/master.yaml,
/usr/local/determined/etc/master.yaml and /usr/local/pedl/etc/master.yaml is
read, or none. In a cluster on Kubernetes the Helm chart gives --from-helm-values.

With --on-hold it tries on a copy of its store whether it could serve, says on
/info what came of it, and refuses everything else. That is how an upgrade finds
out while the way back is still open; started without the flag it serves.`,
		Example: `  det-deploy master run --config-file master.yaml
  det-deploy master run --data-dir /srv/master --port 9000 --show-config`,
		Args: cobra.NoArgs,
	})
	o.addFlags(c.Flags())
	c.Flags().BoolVar(&o.ShowConfig, "show-config", false, "print every setting with its source and stop")
	c.Flags().BoolVar(&o.OnHold, "on-hold", false, "test the store on a copy and serve nothing")
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
