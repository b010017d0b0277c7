package aws

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
		Short: "Check the prerequisites of a cluster on AWS",
		Long: `Check what up with the same flags needs: who the caller is and what they may do,
quotas, instance types, images, names, networks, the clock. Each check says pass,
fail or unknown, what was found, what is needed, and what to do. Nothing is
changed. It is the first act of up.`,
		Example: `  det-deploy aws doctor --cluster-id lab --instance-type p4d.24xlarge
  det-deploy aws doctor --cluster-id lab --output json`,
		Args: usage.Args(),
		RunE: func(c *cobra.Command, _ []string) error { return run(c.Context(), o) },
	}
	o.addFlags(c.Flags())
	o.Output.AddFlag(c.Flags())
	return c
}

func runDoctor(ctx context.Context, o *doctorOptions) error {
	a, err := o.open(ctx, o.Streams, false, wire.AWSRequest{})
	if err != nil {
		return err
	}
	r := a.Check(ctx)
	if o.Output == term.JSON {
		if err := o.PrintJSON(r); err != nil {
			return err
		}
	} else if err := r.Render(o.Out); err != nil {
		return err
	}
	return r.Err()
}
