package k8s

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	k8swire "github.com/det-deploy/det-deploy/cmd/internal/wire/k8s"
	"github.com/det-deploy/det-deploy/installer/target/k8s/chart"
)

type valuesOptions struct {
	*term.Streams
	Which

	Default bool
	Schema  bool
	Given   bool
	Output  term.Format
}

func newValues(s *term.Streams, run func(context.Context, *valuesOptions) error) *cobra.Command {
	o := &valuesOptions{Streams: s}
	c := &cobra.Command{
		Use:   "values",
		Short: "Show the values of a cluster on Kubernetes, or of the chart",
		Long: `Show the values of a cluster on Kubernetes, merged over the chart's defaults. Secrets
are hidden. --default shows the chart's values.yaml, which documents each value, and
--schema its JSON schema; neither makes calls to a cluster.`,
		Example: `  det-deploy k8s values --default
  det-deploy k8s values --cluster-id lab --given`,
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
	f.BoolVar(&o.Default, "default", false, "show the chart's documented values.yaml")
	f.BoolVar(&o.Schema, "schema", false, "show the chart's values.schema.json")
	f.BoolVar(&o.Given, "given", false, "show only the values that were given")
	o.Output.AddFlag(f)
	return c
}

func (o *valuesOptions) validate() error {
	static := o.Default || o.Schema
	switch {
	case o.Default && o.Schema, o.Given && static:
		return usage.Errorf("use only one of --default, --schema and --given")
	case static && o.Cluster != "":
		return usage.Errorf("--default and --schema are about the chart: omit --cluster-id")
	case static && o.Output == term.JSON:
		return usage.Errorf("--output json: cannot be combined with --default or --schema, which print files of the chart")
	case static:
		return nil
	}
	return o.Which.validate()
}

// shown is the JSON output of values.
type shown struct {
	Schema  string       `json:"schema"`
	Cluster string       `json:"cluster"`
	Values  chart.Values `json:"values"`
}

func runValues(ctx context.Context, o *valuesOptions) error {
	if o.Default || o.Schema {
		name := "values.yaml"
		if o.Schema {
			name = "values.schema.json"
		}
		text, err := k8swire.ChartFile(name)
		if err != nil {
			return err
		}
		o.Printf("%s", text)
		return nil
	}
	k, err := openExisting(ctx, o.Streams, &o.Which)
	if err != nil {
		return err
	}
	values := k.Target.Values.Shown()
	if !o.Given {
		if values, err = k8swire.Effective(k.Target.Values); err != nil {
			return err
		}
	}
	if o.Output == term.JSON {
		return o.PrintJSON(shown{"det-deploy.k8s-values/v1", o.Cluster, values})
	}
	text, err := k8swire.FormatValues(values)
	if err != nil {
		return err
	}
	o.Printf("%s", text)
	return nil
}
