package local

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/agree"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
	"github.com/det-deploy/det-deploy/installer"
)

type downOptions struct {
	*term.Streams
	which

	DeleteData bool
	DryRun     bool
	Yes        bool
	Output     term.Format
}

func newDown(s *term.Streams, run func(context.Context, *downOptions) error) *cobra.Command {
	o := &downOptions{Streams: s}
	c := &cobra.Command{
		Use:   "down",
		Short: "Stop a cluster on this machine and remove it",
		Long: `Stop a cluster on this machine and remove it. Its data stays, with the password
that opens it, unless --delete-data says otherwise; up finds it again.`,
		Example: `  det-deploy local down
  det-deploy local down --delete-data --yes`,
		Args: usage.Args(),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := o.validate(); err != nil {
				return err
			}
			return run(c.Context(), o)
		},
	}
	f := c.Flags()
	o.addFlag(f)
	f.BoolVar(&o.DeleteData, "delete-data", false, "also delete data (irreversible)")
	f.BoolVar(&o.DryRun, "dry-run", false, "print the plan and stop")
	f.BoolVarP(&o.Yes, "yes", "y", false, "skip the confirmation")
	o.Output.AddFlag(f)
	return c
}

func (o *downOptions) validate() error {
	if err := agree.Flags(o.DryRun, o.Yes); err != nil {
		return err
	}
	return o.which.validate()
}

func runDown(ctx context.Context, o *downOptions) error {
	ask := agree.Asker{Streams: o.Streams, Output: o.Output, Yes: o.Yes}
	l, err := wire.NewLocal(ctx, o.Streams, o.Cluster, nil, ask.Tell())
	if err != nil {
		return err
	}
	p, err := l.PlanDown(ctx, o.DeleteData)
	if err != nil {
		return err
	}
	if o.DryRun {
		return ask.Plan(p)
	}
	if p.Empty() && !l.Known {
		o.Notef("Cluster %s is not up.", o.Cluster)
		return ask.Receipt(installer.KeptReceipt(p))
	}
	if agreed, err := ask.Down(ctx, o.Cluster, p, o.DeleteData); err != nil || !agreed {
		return err
	}
	receipt, err := l.Down(ctx, p, o.DeleteData)
	if err != nil {
		return err
	}
	if err := forgetContext(ctx, o.Streams, o.Cluster); err != nil {
		return err
	}
	return ask.Receipt(receipt)
}
