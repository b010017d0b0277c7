package aws

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/agree"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
	"github.com/det-deploy/det-deploy/installer"
)

// DownOptions is what `aws down` is asked.
type DownOptions struct {
	*term.Streams
	Which

	DeleteData bool
	DryRun     bool
	Yes        bool
	Output     term.Format
}

func newDown(s *term.Streams, run func(context.Context, *DownOptions) error) *cobra.Command {
	o := &DownOptions{Streams: s}
	c := &cobra.Command{
		Use:   "down",
		Short: "Remove a cluster from AWS",
		Long: `Remove a cluster from AWS: its master stops launching, its machines go, then
everything else that carries its mark. It names what it deletes before, and ends
with a receipt: removed, kept and why, left. Data stays, with what opens it,
unless --delete-data says otherwise; up finds it again. It works on a half-made
cluster, without its record, and twice.`,
		Example: `  det-deploy aws down --cluster-id lab
  det-deploy aws down --cluster-id lab --delete-data --yes`,
		Args: usage.Args(),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := o.validate(); err != nil {
				return err
			}
			return run(c.Context(), o)
		},
	}
	f := c.Flags()
	o.addFlags(f)
	f.BoolVar(&o.DeleteData, "delete-data", false, "also delete data (irreversible)")
	f.BoolVar(&o.DryRun, "dry-run", false, "print the plan and stop")
	f.BoolVarP(&o.Yes, "yes", "y", false, "skip the confirmation")
	o.Output.AddFlag(f)
	return c
}

func (o *DownOptions) validate() error {
	if err := agree.Flags(o.DryRun, o.Yes); err != nil {
		return err
	}
	return o.Which.validate()
}

// RunDown removes a cluster.
func RunDown(ctx context.Context, o *DownOptions) error {
	ask := agree.Asker{Streams: o.Streams, Output: o.Output, Yes: o.Yes}
	q := o.request(o.Streams)
	q.Sink = ask.Tell()
	a, err := wire.NewAWS(ctx, o.Streams, q)
	if err != nil {
		return err
	}
	p, err := a.PlanDown(ctx, o.DeleteData)
	if err != nil {
		return err
	}
	if o.DryRun {
		return ask.Plan(p)
	}
	if p.Empty() && !a.Known {
		o.Notef("There is no cluster %s in %s.", o.Cluster, a.Region())
		return o.receipt(ask, installer.KeptReceipt(p), a.Region())
	}
	if agreed, err := ask.Down(ctx, o.Cluster, p, o.DeleteData); err != nil || !agreed {
		return err
	}
	receipt, err := a.Down(ctx, p, o.DeleteData)
	if err != nil {
		return err
	}
	if err := forget(ctx, o.Streams, o.Cluster); err != nil {
		return err
	}
	return o.receipt(ask, receipt, a.Region())
}

// receipt prints what became of the cluster, and how to remove what was kept.
func (o *DownOptions) receipt(ask agree.Asker, r installer.Receipt, region string) error {
	if err := ask.Receipt(r); err != nil || len(r.Kept) == 0 {
		return err
	}
	o.Notef("`det-deploy aws down --cluster-id %s --region %s --delete-data` removes what was kept.", o.Cluster, region)
	return nil
}
