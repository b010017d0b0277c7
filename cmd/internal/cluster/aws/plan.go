package aws

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/agree"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
)

type planOptions struct {
	*term.Streams
	wanted

	Output term.Format
}

func newPlan(s *term.Streams, run func(context.Context, *planOptions) error) *cobra.Command {
	o := &planOptions{Streams: s}
	c := &cobra.Command{
		Use:   "plan",
		Short: "Show the plan of up for a cluster on AWS",
		Long: `Show what up with the same flags would create, change, replace and delete, each
with its reason. Nothing is asked, checked or changed.`,
		Example: "  det-deploy aws plan --cluster-id lab --max-agents 10",
		Args:    usage.Args(),
		RunE:    func(c *cobra.Command, _ []string) error { return run(c.Context(), o) },
	}
	o.addFlags(c.Flags())
	o.Output.AddFlag(c.Flags())
	return c
}

func runPlan(ctx context.Context, o *planOptions) error {
	a, err := o.open(ctx, o.Streams, false, wire.AWSRequest{})
	if err != nil {
		return err
	}
	p, err := a.Plan(ctx)
	if err != nil {
		return err
	}
	return agree.Asker{Streams: o.Streams, Output: o.Output}.Plan(p)
}
