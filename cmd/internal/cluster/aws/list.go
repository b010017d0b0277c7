package aws

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
)

type listOptions struct {
	*term.Streams

	Region     string
	Profile    string
	AllRegions bool
	Output     term.Format
}

func newList(s *term.Streams, run func(context.Context, *listOptions) error) *cobra.Command {
	o := &listOptions{Streams: s}
	c := &cobra.Command{
		Use:   "list",
		Short: "List clusters of an AWS account",
		Example: `  det-deploy aws list
  det-deploy aws list --all-regions --output json`,
		Args: usage.Args(),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := o.validate(); err != nil {
				return err
			}
			return run(c.Context(), o)
		},
	}
	f := c.Flags()
	f.StringVar(&o.Region, "region", "", "AWS region (default the environment's)")
	f.StringVar(&o.Profile, "profile", "", "profile of the AWS configuration to use")
	f.BoolVar(&o.AllRegions, "all-regions", false, "list clusters of all regions")
	o.Output.AddFlag(f)
	return c
}

func (o *listOptions) validate() error {
	if o.AllRegions && o.Region != "" {
		return usage.Errorf("--all-regions and --region exclude each other")
	}
	return checkRegion(o.Region)
}

// listed is the JSON form of the answer.
type listed struct {
	Schema   string            `json:"schema"`
	Clusters []wire.AWSCluster `json:"clusters"`
}

func runList(ctx context.Context, o *listOptions) error {
	region := o.Region
	if region == "" && !o.AllRegions {
		var err error
		if region, err = wire.DefaultRegion(ctx, o.Profile); err != nil {
			return err
		}
	}
	all, err := wire.ListAWS(ctx, region, o.Profile)
	if err != nil {
		return err
	}
	if o.Output == term.JSON {
		return o.PrintJSON(listed{"det-deploy.aws-list/v1", all})
	}
	if len(all) == 0 {
		where := "in " + region
		if o.AllRegions {
			where = "in this account"
		}
		o.Notef("There are no clusters %s.", where)
		return nil
	}
	t := term.NewTable("cluster", "region", "version", "ready since", "note")
	for _, c := range all {
		t.Row(c.Cluster, c.Region, c.Version, c.Ready, c.Note)
	}
	return o.PrintTable(t)
}
