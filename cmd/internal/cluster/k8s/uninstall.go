package k8s

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/agree"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
	"github.com/det-deploy/det-deploy/installer"
)

// UninstallOptions is what `k8s uninstall` is asked.
type UninstallOptions struct {
	*term.Streams
	Which

	DeleteData bool
	DryRun     bool
	Yes        bool
	Output     term.Format
}

func newUninstall(s *term.Streams, run func(context.Context, *UninstallOptions) error) *cobra.Command {
	o := &UninstallOptions{Streams: s}
	c := &cobra.Command{
		Use:     "uninstall",
		Aliases: []string{"down"},
		Short:   "Remove a cluster from Kubernetes",
		Long: `Remove a cluster from Kubernetes: its master stops, the pods, Jobs and Secrets that
tasks left go, then the release. It names what it deletes before, and ends with a
receipt: removed, kept and why, left. The volumes of the database and of backups stay,
with the Secret that opens them, unless --delete-data says otherwise; install finds
them again. The namespace stays. It works on a half-made cluster, without its record,
on one whose chart was applied without Helm, when the namespace is gone, and twice; a
release that is not det-deploy's it leaves as it is.`,
		Example: `  det-deploy k8s uninstall --cluster-id lab
  det-deploy k8s uninstall --cluster-id lab --delete-data --yes`,
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

func (o *UninstallOptions) validate() error {
	if err := agree.Flags(o.DryRun, o.Yes); err != nil {
		return err
	}
	return o.Which.validate()
}

// RunUninstall removes a cluster.
func RunUninstall(ctx context.Context, o *UninstallOptions) error {
	ask := agree.Asker{Streams: o.Streams, Output: o.Output, Yes: o.Yes}
	k, err := wire.NewK8s(ctx, o.Streams, wire.K8sRequest{Cluster: o.Cluster, At: o.at(o.Streams), Unread: true, Sink: ask.Tell()})
	if err != nil {
		return err
	}
	p, err := k.PlanDown(ctx, o.DeleteData)
	if err != nil {
		return err
	}
	if o.DryRun {
		return ask.Plan(p)
	}
	if p.Empty() && !k.Known {
		o.Notef("There is no cluster %s in namespace %s.", o.Cluster, k.Namespace())
		for _, ns := range k.Elsewhere(ctx) {
			o.Notef("There is one in namespace %s: name it with --namespace.", ns)
		}
		return ask.Receipt(installer.KeptReceipt(p))
	}
	if err := o.warn(ctx, k); err != nil {
		return err
	}
	if agreed, err := ask.Down(ctx, o.Cluster, p, o.DeleteData); err != nil || !agreed {
		return err
	}
	receipt, err := k.Down(ctx, p, o.DeleteData)
	if err != nil {
		return err
	}
	if err := forget(ctx, o.Streams, k); err != nil {
		return err
	}
	return ask.Receipt(receipt)
}

// warn says what makes the receipt less than the whole truth, or not last.
func (o *UninstallOptions) warn(ctx context.Context, k *wire.K8s) error {
	if k.Applied {
		o.Notef("The chart was applied without Helm: whatever applied it may apply it again.")
	}
	unseen, err := k.Target.Unseen(ctx)
	if len(unseen) > 0 {
		o.Notef("You may not list %s: what is left of these is not counted.", strings.Join(unseen, ", "))
	}
	return err
}
