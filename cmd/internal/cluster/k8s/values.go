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
		Long: `Show the values of a cluster on Kubernetes: those that were given over the chart's
own. Secrets are not shown. With --default it shows the chart's values.yaml, which
explains each, and with --schema the rules that they keep; neither asks any cluster.`,
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
	f.BoolVar(&o.Default, "default", false, "show the chart's values.yaml with its explanations")
	f.BoolVar(&o.Schema, "schema", false, "show the chart's values.schema.json")
	f.BoolVar(&o.Given, "given", false, "show only the values that were given")
	o.Output.AddFlag(f)
	return c
}

func (o *valuesOptions) validate() error {
	static := o.Default || o.Schema
	switch {
	case o.Default && o.Schema, o.Given && static:
		return usage.Errorf("--default, --schema and --given exclude each other")
	case static && o.Cluster != "":
		return usage.Errorf("--default and --schema are about the chart: leave --cluster-id out")
	case static && o.Output == term.JSON:
		return usage.Errorf("--output json: --default and --schema print the chart's own files")
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
