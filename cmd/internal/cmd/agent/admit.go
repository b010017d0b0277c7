package agent

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/contexts"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
)

type admitOptions struct {
	*term.Streams
	contexts.Target

	IDs    []string
	Output term.Format
}

func newAdmit(s *term.Streams, run func(context.Context, *admitOptions) error) *cobra.Command {
	o := &admitOptions{Streams: s}
	c := &cobra.Command{
		Use:   "admit AGENT…",
		Short: "Restore revoked agents",
		Long: `Let agents join again that "det-deploy agent revoke" keeps out. Their old
credentials stay void: an agent needs a join token, or a proof of its identity
if the master launched its machine. "det-deploy agent list --revoked" lists them.`,
		Example: "  det-deploy agent admit gpu-3",
		Args:    usage.Args("AGENT…"),
		RunE: func(c *cobra.Command, args []string) error {
			o.IDs = args
			return run(c.Context(), o)
		},
	}
	o.AddFlag(c.Flags())
	o.Output.AddFlag(c.Flags())
	return c
}

func runAdmit(ctx context.Context, o *admitOptions) error {
	master, err := o.Dial(o.Streams)
	if err != nil {
		return err
	}
	defer master.Close()
	done := []string{}
	var errs []error
	for _, id := range o.IDs {
		if err := master.AdmitAgent(ctx, id); err != nil {
			errs = append(errs, err)
			continue
		}
		done = append(done, id)
		if o.Output != term.JSON {
			o.Notef("Agent %s may join again.", id)
		}
	}
	if o.Output == term.JSON {
		errs = append(errs, o.PrintJSON(struct {
			Admitted []string `json:"admitted"`
		}{done}))
	}
	return errors.Join(errs...)
}
