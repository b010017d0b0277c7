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
}

func downHelp() Help {
	return Help{
		Short: "Remove a cluster from {on}",
		Long: `Remove a cluster from {on}: stop its master from launching machines, terminate its
machines, and delete all other resources with the cluster's tags or labels. The
plan is shown first, with the tasks and experiments that end with the cluster, and a
receipt lists removed and kept resources at the end.
Data and the keys to it are kept unless --delete-data is given; up restores them.
down also removes incomplete clusters and clusters without a record, and can be
repeated.`,
		Example: `  det-deploy {name} down --cluster-id lab
  det-deploy {name} down --cluster-id lab --delete-data --yes`,
	}
}

func (o *downOptions) addFlags(f *pflag.FlagSet) {
	o.changing.addFlags(f)
	f.BoolVar(&o.DeleteData, "delete-data", false, "also delete data (irreversible)")
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
		return ask.printPlan(p)
	}
	if _, recorded := c.Recorded(); p.Empty() && !recorded {
		for _, line := range c.Absent(ctx) {
			o.Notef("%s", line)
		}
		if err := dropSettings(c); err != nil {
			return err
		}
		return o.receipt(ask, c, installer.KeptReceipt(p))
	}
	if err := c.Warn(ctx, Down); err != nil {
		return err
	}
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
	if err := dropSettings(c); err != nil {
		return err
	}
	return o.receipt(ask, c, receipt)
}

// settingsKeeper is a cluster whose settings are kept when it is removed.
type settingsKeeper interface {
	// DropSettings deletes the settings of the removed cluster if the user wants that.
	DropSettings() error
}

func dropSettings(c Cluster) error {
	if k, keeps := c.(settingsKeeper); keeps {
		return k.DropSettings()
	}
	return nil
}

// receipt prints the receipt and the command that deletes the remaining data.
func (o *downOptions) receipt(ask prompt, c Cluster, r installer.Receipt) error {
	if err := ask.printReceipt(r); err != nil || len(r.Kept) == 0 || c.Kept() == "" {
		return err
	}
	o.Notef("%s", c.Kept())
	return nil
}
