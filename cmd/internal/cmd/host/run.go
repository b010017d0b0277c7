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
		Long: `Run the node services in the foreground until they are interrupted. On a master's
machine they follow the manifest in the cluster's control bucket: they fetch the program
and configuration, start, hold or stop the master, and report its state. On an agent's
machine they prove the machine's identity for the agent and notify it of an imminent
interruption. Both send journal and metrics to CloudWatch, or to Cloud Logging and
Cloud Monitoring, if configured. The default of --region comes from the machine's
metadata.`,
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
