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

type upgradeOptions struct {
	*term.Streams
	which

	DryRun bool
	Yes    bool
	Output term.Format
}

func newUpgrade(s *term.Streams, run func(context.Context, *upgradeOptions) error) *cobra.Command {
	o := &upgradeOptions{Streams: s}
	c := &cobra.Command{
		Use:   "upgrade",
		Short: "Upgrade a cluster on this machine to this version",
		Long: `Bring a cluster on this machine to the det-deploy that is typed. The master
stops, its store is backed up, and the new master is tried on a copy of it.
Until it serves, whatever goes wrong puts the old one back; after an
interruption the same command continues. Tasks go on.`,
		Example: `  det-deploy local upgrade
  det-deploy local upgrade --dry-run`,
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
	f.BoolVar(&o.DryRun, "dry-run", false, "print the plan and stop")
	f.BoolVarP(&o.Yes, "yes", "y", false, "skip the confirmation")
	o.Output.AddFlag(f)
	return c
}

func (o *upgradeOptions) validate() error {
	if err := agree.Flags(o.DryRun, o.Yes); err != nil {
		return err
	}
	return o.which.validate()
}

func runUpgrade(ctx context.Context, o *upgradeOptions) error {
	ask := agree.Asker{Streams: o.Streams, Output: o.Output, Yes: o.Yes}
	l, err := wire.NewLocal(ctx, o.Streams, o.Cluster, map[string]string{}, ask.Tell())
	if err != nil {
		return err
	}
	if !l.Known && !l.Recovered {
		return &absentError{o.Cluster}
	}
	to := l.Target.Own
	would := installer.Upgraded{From: l.Release, To: to, Changed: l.Record.Upgrade != nil || !l.Release.Same(to)}
	if o.DryRun {
		return ask.PrintUpgrade(o.Cluster, would, true)
	}
	if would.Changed {
		if agreed, err := ask.Upgrade(ctx, o.Cluster, l.Release, to); err != nil || !agreed {
			return err
		}
	}
	done, err := l.Upgrade(ctx, to)
	if err != nil {
		return err
	}
	return ask.PrintUpgrade(o.Cluster, done, false)
}
