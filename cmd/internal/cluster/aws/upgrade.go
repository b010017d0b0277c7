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

// UpgradeOptions is what `aws upgrade` is asked.
type UpgradeOptions struct {
	*term.Streams
	Which

	Binaries []string
	NoVerify bool
	DryRun   bool
	Yes      bool
	Output   term.Format
}

func newUpgrade(s *term.Streams, run func(context.Context, *UpgradeOptions) error) *cobra.Command {
	o := &UpgradeOptions{Streams: s}
	c := &cobra.Command{
		Use:   "upgrade",
		Short: "Upgrade a cluster on AWS to this version",
		Long: `Bring a cluster on AWS to the det-deploy that is typed. The master stops, its
disk is kept as a snapshot, and the new master is tried on a copy of the store.
Until it serves, whatever goes wrong puts the old one back; after an
interruption the same command continues. Agents follow without losing tasks.`,
		Example: `  det-deploy aws upgrade --cluster-id lab
  det-deploy aws upgrade --cluster-id lab --binary arm64=./det-deploy-arm64 --yes`,
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
	f.StringArrayVar(&o.Binaries, "binary", nil, "det-deploy for another architecture, as amd64=PATH or arm64=PATH")
	f.BoolVar(&o.NoVerify, "no-verify", false, "skip the test task")
	f.BoolVar(&o.DryRun, "dry-run", false, "print the plan and stop")
	f.BoolVarP(&o.Yes, "yes", "y", false, "skip the confirmation")
	o.Output.AddFlag(f)
	return c
}

func (o *UpgradeOptions) validate() error {
	if err := agree.Flags(o.DryRun, o.Yes); err != nil {
		return err
	}
	return o.Which.validate()
}

// RunUpgrade brings a cluster to this program.
func RunUpgrade(ctx context.Context, o *UpgradeOptions) error {
	ask := agree.Asker{Streams: o.Streams, Output: o.Output, Yes: o.Yes}
	q := o.request(o.Streams)
	q.Binaries, q.Bring, q.NoVerify, q.Sink = o.Binaries, true, o.NoVerify, ask.Tell()
	a, err := wire.NewAWS(ctx, o.Streams, q)
	if err != nil {
		return err
	}
	if !a.Known {
		return unknown(ctx, a)
	}
	if a.Unread != nil {
		return a.Unread
	}
	runs, _, err := a.Target.Runs(ctx)
	if err != nil {
		return err
	}
	if runs.IsZero() {
		return &installer.AbsentError{Cluster: o.Cluster}
	}
	to := a.Target.Release()
	would := installer.Upgraded{From: runs, To: to, Changed: a.Record.Upgrade != nil || !runs.Same(to)}
	if o.DryRun {
		return ask.PrintUpgrade(o.Cluster, would, true)
	}
	if would.Changed {
		if agreed, err := ask.Upgrade(ctx, o.Cluster, runs, to); err != nil || !agreed {
			return err
		}
	}
	done, err := a.Upgrade(ctx, to)
	if err != nil {
		return err
	}
	return ask.PrintUpgrade(o.Cluster, done, false)
}
