package k8s

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
		Short: "Show the plan of install for a cluster on Kubernetes",
		Long: `Show what install with the same flags would create, change and delete: every live
object is compared with the rendered one, and the server itself says what a change
would come to. What is in a Secret is not shown. Nothing is asked, checked or changed.`,
		Example: "  det-deploy k8s plan --cluster-id lab --set masterPort=9090",
		Args:    usage.Args(),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := o.validate(); err != nil {
				return err
			}
			return run(c.Context(), o)
		},
	}
	o.addFlags(c.Flags())
	o.Output.AddFlag(c.Flags())
	return c
}

func runPlan(ctx context.Context, o *planOptions) error {
	k, err := o.open(ctx, o.Streams, false, wire.K8sRequest{})
	if err != nil {
		return err
	}
	p, err := k.Plan(ctx)
	if err != nil {
		return err
	}
	if err := o.warn(ctx, o.Streams, k); err != nil {
		return err
	}
	return agree.Asker{Streams: o.Streams, Output: o.Output}.Plan(p)
}
