package local

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
	"github.com/det-deploy/det-deploy/installer/plan"
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
	f.BoolVar(&o.DeleteData, "delete-data", false, "remove the data too; it cannot be brought back")
	f.BoolVar(&o.DryRun, "dry-run", false, "print the plan and stop")
	f.BoolVarP(&o.Yes, "yes", "y", false, "do not ask")
	o.Output.AddFlag(f)
	return c
}

func (o *downOptions) validate() error {
	if o.DryRun && o.Yes {
		return usage.Errorf("--dry-run and --yes exclude each other: a dry run asks nothing")
	}
	return o.which.validate()
}

func runDown(ctx context.Context, o *downOptions) error {
	l, err := wire.NewLocal(ctx, o.Streams, o.Cluster, nil, tell(o.Streams, o.Output))
	if err != nil {
		return err
	}
	p, err := l.PlanDown(ctx, o.DeleteData)
	if err != nil {
		return err
	}
	if o.DryRun {
		return (&upOptions{Streams: o.Streams, Output: o.Output}).printPlan(p)
	}
	if p.Empty() && !l.Known {
		return o.nothing(p)
	}
	if agreed, err := o.agree(ctx, p); err != nil || !agreed {
		return err
	}
	receipt, err := l.Down(ctx, p, o.DeleteData)
	if err != nil {
		return err
	}
	if err := forgetContext(ctx, o.Streams, o.Cluster); err != nil {
		return err
	}
	if o.Output == term.JSON {
		return o.PrintJSON(receipt)
	}
	return receipt.Render(o.Out)
}

// nothing is the answer for a cluster that is not up.
func (o *downOptions) nothing(p plan.Plan) error {
	if o.Output == term.JSON {
		return o.PrintJSON(p)
	}
	o.Notef("Cluster %s is not up.", o.Cluster)
	return p.Render(o.Out)
}

// agree shows the plan and asks: for the id where data goes, for a yes elsewhere.
func (o *downOptions) agree(ctx context.Context, p plan.Plan) (agreed bool, err error) {
	if o.Output == term.Text {
		if err := p.Render(o.Err); err != nil {
			return false, err
		}
	}
	if o.Yes {
		return true, nil
	}
	if o.DeleteData {
		agreed, err = o.ConfirmTyped(ctx, term.Question{Text: "This removes the data of cluster " + o.Cluster + " for good.", Flag: "--yes"}, o.Cluster)
	} else {
		agreed, err = o.Confirm(ctx, term.Question{Text: "Take cluster " + o.Cluster + " down?", Flag: "--yes"})
	}
	if err == nil && !agreed {
		o.Notef("Nothing was changed.")
	}
	return agreed, err
}
