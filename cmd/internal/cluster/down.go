package cluster

import (
	"context"

	"github.com/spf13/pflag"

	"github.com/det-deploy/det-deploy/installer"
)

// downOptions holds the options of `down`, which is called uninstall on Kubernetes.
type downOptions struct {
	changing

	DeleteData bool
	// Forget also deletes the settings.
	Forget bool
}

func downHelp() Help {
	return Help{
		Short: "Remove a cluster from {on}",
		Long: `Remove a cluster from {on}: stop its master from launching machines, terminate its
machines, and delete all other resources with the cluster's tags or labels. The
plan is shown first, with the tasks and experiments that end with the cluster, and a
receipt lists removed and kept resources at the end.
Data, the keys to it and the cluster's settings are kept unless --delete-data is
given; up restores them. With --forget, the next up begins with the defaults.
down also removes incomplete clusters and clusters without a record, and can be
repeated.`,
		Example: `  det-deploy {name} down --cluster-id lab
  det-deploy {name} down --cluster-id lab --delete-data --yes`,
	}
}

func (o *downOptions) addFlags(f *pflag.FlagSet) {
	o.changing.addFlags(f)
	f.BoolVar(&o.DeleteData, "delete-data", false, "also delete data (irreversible)")
	f.BoolVar(&o.Forget, "forget", false, "also forget the settings, which the next up would use again")
}

func (o *downOptions) run(ctx context.Context) error {
	ask, c, err := o.open(ctx)
	if err != nil {
		return err
	}
	p, err := c.PlanDown(ctx, o.DeleteData)
	if err != nil {
		return err
	}
	if !p.Empty() {
		warnWork(ctx, o.Streams, c)
	}
	if o.DryRun {
		o.noteForgotten(c)
		return ask.printPlan(p)
	}
	if _, recorded := c.Recorded(); p.Empty() && !recorded {
		return o.runRemoved(ctx, ask, c, p)
	}
	if err := c.Warn(ctx, Down); err != nil {
		return err
	}
	o.noteForgotten(c)
	if agreed, err := ask.confirmDown(ctx, c.ID(), p, o.DeleteData); err != nil || !agreed {
		return err
	}
	receipt, err := c.Down(ctx, p, o.DeleteData)
	if err != nil {
		return err
	}
	if err := c.Forget(ctx); err != nil {
		return err
	}
	if err := o.forget(ctx, c, &receipt); err != nil {
		return err
	}
	return o.receipt(ask, c, receipt)
}

// receipt prints the receipt and the command that deletes the remaining data.
func (o *downOptions) receipt(ask prompt, c Cluster, r installer.Receipt) error {
	if err := ask.printReceipt(r); err != nil || len(r.Kept) == 0 || c.Kept() == "" {
		return err
	}
	o.Notef("%s", c.Kept())
	return nil
}
