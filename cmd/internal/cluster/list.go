package cluster

import (
	"context"
	"maps"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/det-deploy/det-deploy/cmd/internal/show"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
)

// listOptions holds the options of `list` of one platform. It lists clusters created from any machine.
type listOptions struct{ selected }

func listHelp() Help {
	return Help{
		Short: "List clusters on {on}",
		Example: `  det-deploy {name} list
  det-deploy {name} list --output json`,
	}
}

// lister is a Selection that can list the clusters of its platform.
type lister interface {
	List(ctx context.Context) (Listing, error)
}

func (o *listOptions) addFlags(f *pflag.FlagSet) {
	o.AddFlags(o.verb, f)
	o.Output.AddShownFlag(f)
}

// Listing holds the clusters of a platform in all output formats.
type Listing struct {
	// Clusters are the clusters as JSON, and More is what else is known.
	Clusters any
	More     map[string]any
	// V1 is the output of json=v1.
	V1 any
	// Notes explain missing entries, and None is printed if there are no clusters.
	Notes []string
	None  string
	Table *term.Table
}

func (o *listOptions) run(ctx context.Context) error {
	p, ok := o.Selection.(lister)
	if !ok {
		panic("a platform with the verb list does not implement lister")
	}
	l, err := p.List(ctx)
	if err != nil {
		return err
	}
	return l.print(o.Streams, o.Output)
}

func (l Listing) print(s *term.Streams, f term.Format) error {
	switch {
	case f == term.JSONv1:
		return s.PrintJSON(l.V1)
	case !f.IsTable():
		return s.PrintObject(f, l.object())
	case !f.IsText():
		return s.ShowTable(f, l.Table, term.Look{})
	}
	for _, note := range l.Notes {
		s.Notef("%s", note)
	}
	if l.Table.Len() == 0 {
		s.Notef("%s", l.None)
		return nil
	}
	return s.ShowTable(f, l.Table, term.Look{Now: time.Now(), Wide: f == term.Wide})
}

// object returns the list in version 2 of the JSON output.
func (l Listing) object() map[string]any {
	out := show.List("Cluster", l.Clusters)
	maps.Copy(out, l.More)
	return out
}

// NewList returns `det-deploy list`, which lists the clusters of all platforms in the local records.
func NewList(s *term.Streams, all ...Platform) *cobra.Command {
	var output term.Format
	c := &cobra.Command{
		Use:   "list",
		Short: "List clusters known on this machine",
		Long: `List the clusters that run on this machine and those that were created from it. For
other clusters, see det-deploy aws list --all-regions, det-deploy gcp list and
det-deploy k8s list.`,
		Example: "  det-deploy list",
		Args:    usage.Args(),
		RunE: func(*cobra.Command, []string) error {
			clusters, err := rememberedClusters(s, all)
			if err != nil {
				return err
			}
			return listing(clusters).print(s, output)
		},
	}
	output.AddShownFlag(c.Flags())
	return c
}

// listed is version 1 of the JSON output of list.
type listed struct {
	Schema   string  `json:"schema"`
	Clusters []known `json:"clusters"`
}

func listing(all []known) Listing {
	l := Listing{
		Clusters: append([]known{}, all...), V1: listed{"det-deploy.list/v1", all},
		None:  "No clusters are known on this machine. For other clusters, use `det-deploy aws list --all-regions`, `det-deploy gcp list` or `det-deploy k8s list`.",
		Table: term.NewTable("NAME", "PLATFORM", "PLACE", "MASTER"),
	}
	for _, k := range all {
		l.Table.Row(k.Cluster, k.Platform, k.placeName(), k.URL)
	}
	return l
}
