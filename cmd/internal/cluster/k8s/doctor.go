package k8s

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
)

type doctorOptions struct {
	*term.Streams
	wanted

	Output term.Format
}

func newDoctor(s *term.Streams, run func(context.Context, *doctorOptions) error) *cobra.Command {
	o := &doctorOptions{Streams: s}
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Check the prerequisites of a cluster on Kubernetes",
		Long: `Check what install with the same flags needs: that the server is reached and is new
enough, what the caller may do, storage, GPUs and what maxSlotsPerPod should be,
taints, Secrets that are named, load balancers, quotas. Each check says pass, fail or
unknown, what was found, what is needed, and what to do. Nothing is changed. It is the
first act of install.`,
		Example: `  det-deploy k8s doctor --cluster-id lab -f values.yaml
  det-deploy k8s doctor --cluster-id lab --output json`,
		Args: usage.Args(),
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

func runDoctor(ctx context.Context, o *doctorOptions) error {
	k, err := o.open(ctx, o.Streams, false, wire.K8sRequest{})
	if err != nil {
		return err
	}
	r := k.Check(ctx)
	if o.Output == term.JSON {
		if err := o.PrintJSON(r); err != nil {
			return err
		}
	} else if err := r.Render(o.Out); err != nil {
		return err
	}
	return r.Err()
}
