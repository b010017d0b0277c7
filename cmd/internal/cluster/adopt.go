package cluster

import (
	"context"
	"maps"
	"slices"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
)

type adoptOptions struct{ changing }

func adoptHelp() Help {
	return Help{
		Short: "Rebuild the lost record of a cluster on {on}",
		Long: `Rebuild the record of a cluster on {on} that has lost it: from the backup of
its settings in its control bucket, or from its live objects. Nothing else is
changed; run plan or up afterwards to compare the cluster with the record.`,
		Example: "  det-deploy {name} adopt --cluster-id lab",
	}
}

// adoptable is a cluster whose lost record can be rebuilt.
type adoptable interface {
	// Recover reads the settings back. whole is false if they come from live objects, which do not hold
	// all settings.
	Recover(ctx context.Context) (settings map[string]string, whole bool, err error)
	// Adopt writes the record that Recover read.
	Adopt(ctx context.Context) error
}

// adopted is the JSON output of adopt.
type adopted struct {
	Schema   string            `json:"schema"`
	Cluster  string            `json:"cluster"`
	Settings map[string]string `json:"settings"`
	Whole    bool              `json:"whole"`
	DryRun   bool              `json:"dry_run"`
}

func (o *adoptOptions) run(ctx context.Context) error {
	c, err := o.Open(ctx, Request{Verb: o.verb, Yes: o.Yes})
	if err != nil {
		return err
	}
	if _, recorded := c.Recorded(); recorded {
		return usage.Errorf("cluster %s has a record; adopt is not needed", c.ID())
	}
	lost, ok := c.(adoptable)
	if !ok {
		panic("a platform with the verb adopt has clusters that do not implement adoptable")
	}
	r := adopted{Schema: schemaName(o.platform, o.verb), Cluster: c.ID(), DryRun: o.DryRun}
	if r.Settings, r.Whole, err = lost.Recover(ctx); err != nil {
		return err
	}
	if o.DryRun {
		return printAnswer(o.Streams, o.Output, r)
	}
	if agreed, err := o.confirmAdoption(ctx, r); err != nil || !agreed {
		return err
	}
	if err := lost.Adopt(ctx); err != nil {
		return err
	}
	o.Notef("Wrote the record. Compare the cluster with it: `det-deploy %s plan --cluster-id %s`", o.platform.Name(), c.ID())
	if o.Output == term.JSON {
		return o.PrintJSON(r)
	}
	return nil
}

// confirmAdoption shows the record and asks for confirmation.
func (o *adoptOptions) confirmAdoption(ctx context.Context, r adopted) (bool, error) {
	if o.Output == term.Text {
		if err := r.Print(o.Streams); err != nil {
			return false, err
		}
	}
	return o.Agreed(ctx, o.Yes, "Write this record?")
}

// Print writes a table of the settings.
func (r adopted) Print(s *term.Streams) error {
	t := term.NewTable("SETTING", "VALUE")
	for _, name := range slices.Sorted(maps.Keys(r.Settings)) {
		t.Row(name, r.Settings[name])
	}
	if err := s.PrintTable(t); err != nil {
		return err
	}
	if !r.Whole {
		s.Notef("Pools and settings that exist only in the configuration cannot be read from live objects; give them again with the next `up`.")
	}
	return nil
}
