package aws

import (
	"context"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/agree"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
	"github.com/det-deploy/det-deploy/installer/hosted"
)

type adoptOptions struct {
	*term.Streams
	Which

	DryRun bool
	Yes    bool
	Output term.Format
}

func newAdopt(s *term.Streams, run func(context.Context, *adoptOptions) error) *cobra.Command {
	o := &adoptOptions{Streams: s}
	c := &cobra.Command{
		Use:   "adopt",
		Short: "Rebuild the lost record of a cluster on AWS",
		Long: `Rebuild the record of a cluster on AWS when its own is lost: from the copy of
its settings in its control bucket, or else from its live objects. Nothing
else is changed; up then brings the cluster to what the record says.`,
		Example: "  det-deploy aws adopt --cluster-id lab",
		Args:    usage.Args(),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := o.validate(); err != nil {
				return err
			}
			return run(c.Context(), o)
		},
	}
	f := c.Flags()
	o.addFlags(f)
	f.BoolVar(&o.DryRun, "dry-run", false, "print the plan and stop")
	f.BoolVarP(&o.Yes, "yes", "y", false, "skip the confirmation")
	o.Output.AddFlag(f)
	return c
}

func (o *adoptOptions) validate() error {
	if err := agree.Flags(o.DryRun, o.Yes); err != nil {
		return err
	}
	return o.Which.validate()
}

// adopted is the JSON form of the answer.
type adopted struct {
	Schema   string            `json:"schema"`
	Cluster  string            `json:"cluster"`
	Settings map[string]string `json:"settings"`
	// Whole is false when the settings were read off live objects, which do not
	// tell all.
	Whole  bool `json:"whole"`
	DryRun bool `json:"dry_run"`
}

func runAdopt(ctx context.Context, o *adoptOptions) error {
	a, err := wire.NewAWS(ctx, o.Streams, o.request(o.Streams))
	if err != nil {
		return err
	}
	if a.Known {
		return usage.Errorf("cluster %s has a record; there is nothing to adopt", o.Cluster)
	}
	lost, err := a.Lost(ctx)
	if err != nil {
		return err
	}
	if lost == nil {
		return &absentError{o.Cluster, a.Region()}
	}
	shown := maps.Clone(lost.Settings)
	delete(shown, hosted.KnownSetting)
	r := adopted{"det-deploy.aws-adopt/v1", o.Cluster, shown, lost.Whole, o.DryRun}
	if o.DryRun {
		return o.print(r)
	}
	if agreed, err := o.agree(ctx, r); err != nil || !agreed {
		return err
	}
	if err := a.Adopted(ctx, lost); err != nil {
		return err
	}
	if err := a.Adopt(ctx); err != nil {
		return err
	}
	o.Notef("The record is written. `det-deploy aws plan --cluster-id %s` shows how the cluster differs from it.", o.Cluster)
	if o.Output == term.JSON {
		return o.PrintJSON(r)
	}
	return nil
}

// agree shows the record and asks.
func (o *adoptOptions) agree(ctx context.Context, r adopted) (bool, error) {
	if o.Output == term.Text {
		if err := o.print(r); err != nil {
			return false, err
		}
	}
	return o.Agreed(ctx, o.Yes, "Write this record?")
}

func (o *adoptOptions) print(r adopted) error {
	if o.Output == term.JSON {
		return o.PrintJSON(r)
	}
	t := term.NewTable("setting", "value")
	for _, name := range slices.Sorted(maps.Keys(r.Settings)) {
		t.Row(name, r.Settings[name])
	}
	if err := o.PrintTable(t); err != nil {
		return err
	}
	if !r.Whole {
		o.Notef("Live objects do not tell of pools or of what only configuration has: say it again with the next `up`.")
	}
	return nil
}
