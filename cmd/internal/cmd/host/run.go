package host

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
)

type runOptions struct {
	command.Base
	settings
}

func newRun(s *term.Streams) *cobra.Command {
	o := &runOptions{}
	c := command.New(s, o, runRun, &cobra.Command{
		Use:   "run",
		Short: "Run the node services in the foreground",
		Long: `Run the node services in the foreground until it is interrupted. A master's
machine follows the manifest in the cluster's control bucket: it fetches program
and configuration, starts, holds or stops the master, and says how it is. An
agent's machine proves its identity for the agent and tells it when its cloud is
about to take the machine back. Both carry their journal and their use to
CloudWatch, or to Cloud Logging and Cloud Monitoring, where that is wanted.
Without --region the machine is asked.`,
		Example: `  det-deploy host run --role master --cluster-id lab --control-bucket det-deploy-lab-123456789012
  det-deploy host run --role agent --cluster-id lab --journal-group /det-deploy/lab --report-use
  det-deploy host run --cloud gcp --role agent --cluster-id lab --journal-group det-deploy-lab --report-use`,
	})
	o.addFlags(c.Flags())
	return c
}

func runRun(ctx context.Context, o *runOptions) error {
	return wire.RunHost(ctx, o.Host, o.Err, o.ErrTerminal())
}
