package master

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/contexts"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
)

type infoOptions struct {
	*term.Streams
	contexts.Target

	Output term.Format
}

func newInfo(s *term.Streams, run func(context.Context, *infoOptions) error) *cobra.Command {
	o := &infoOptions{Streams: s}
	c := &cobra.Command{
		Use:     "info",
		Short:   "Print a master's name and version",
		Example: "  det-deploy master info --output json",
		Args:    usage.Args(),
		RunE:    func(c *cobra.Command, _ []string) error { return run(c.Context(), o) },
	}
	o.AddFlag(c.Flags())
	o.Output.AddFlag(c.Flags())
	return c
}

func runInfo(ctx context.Context, o *infoOptions) error {
	master, err := o.Dial(o.Streams)
	if err != nil {
		return err
	}
	defer master.Close()
	about, err := master.Master(ctx)
	if err != nil {
		return err
	}
	if o.Output == term.JSON {
		return o.PrintMessage(about)
	}
	return o.PrintPairs(
		[2]string{"Address", master.URL()},
		[2]string{"Cluster", about.GetClusterName()},
		[2]string{"Cluster ID", about.GetClusterId()},
		[2]string{"Master ID", about.GetMasterId()},
		[2]string{"API version", about.GetVersion()},
	)
}
