package cluster

import (
	"context"

	"github.com/det-deploy/det-deploy/installer"
)

type upgradeOptions struct{ changing }

func upgradeHelp() Help {
	return Help{
		Short: "Upgrade a cluster on {on} to this version",
		Long: `Upgrade a cluster on {on} to this version of det-deploy. The master stops, a snapshot
of its disk is taken, and the new master is tested on a copy of the store. If the
upgrade fails before the new master serves, it is rolled back; after an interruption,
the same command continues. Agents follow without losing tasks.`,
	}
}

func (o *upgradeOptions) run(ctx context.Context) error {
	ask, c, err := o.open(ctx)
	if err != nil {
		return err
	}
	if a, ok := c.(abandonable); ok && a.Abandons() {
		return o.abandon(ctx, ask, a)
	}
	runs, to, err := c.Releases(ctx)
	if err != nil {
		return err
	}
	record, _ := c.Recorded()
	would := installer.Upgraded{From: runs, To: to, Changed: record.Upgrade != nil || !runs.Same(to)}
	if o.DryRun {
		return ask.printUpgrade(c.ID(), would, true)
	}
	if would.Changed {
		if agreed, err := ask.confirmUpgrade(ctx, c.ID(), runs, to); err != nil || !agreed {
			return err
		}
	}
	done, err := c.Upgrade(ctx, to)
	if err != nil {
		return err
	}
	return ask.printUpgrade(c.ID(), done, false)
}

// abandonable is a cluster whose upgrade can be abandoned.
type abandonable interface {
	ID() string
	// Abandons reports whether --abandon was given.
	Abandons() bool
	PlanAbandon(ctx context.Context) (installer.Abandoned, error)
	Abandon(ctx context.Context) (installer.Abandoned, error)
	// Unpause resumes the tasks that the upgrade has paused.
	Unpause(ctx context.Context) error
}

// abandon completes the remaining steps: an interrupted run may have abandoned the upgrade without
// resuming its tasks.
func (o *upgradeOptions) abandon(ctx context.Context, ask prompt, c abandonable) error {
	done, err := c.PlanAbandon(ctx)
	if err != nil {
		return err
	}
	if o.DryRun {
		return ask.printAbandon(c.ID(), done, true)
	}
	if done.Changed {
		agreed, err := ask.confirmAbandon(ctx, c.ID(), done)
		if err != nil || !agreed {
			return err
		}
		if done, err = c.Abandon(ctx); err != nil {
			return err
		}
	}
	if err := c.Unpause(ctx); err != nil {
		return err
	}
	return ask.printAbandon(c.ID(), done, false)
}
