package aws

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
	"github.com/det-deploy/det-deploy/installer/spec"
)

type policyOptions struct {
	*term.Streams

	For     string
	Cluster string
	Region  string
	Account string
}

func newPolicy(s *term.Streams, run func(context.Context, *policyOptions) error) *cobra.Command {
	o := &policyOptions{Streams: s}
	c := &cobra.Command{
		Use:   "policy [caller|master|agent]",
		Short: "Print what has to be allowed on AWS",
		Long: `Print the IAM policies that have to be attached: to the caller, who installs and
removes clusters, or to roles of one's own for the master and the agents. Whatever
is not said, such as the cluster, is left open in them. Nothing is asked of AWS.`,
		Example: `  det-deploy aws policy
  det-deploy aws policy master --cluster-id lab --account 123456789012 --region us-west-2`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			o.For = "caller"
			if len(args) > 0 {
				o.For = args[0]
			}
			if err := o.validate(); err != nil {
				return err
			}
			return run(c.Context(), o)
		},
	}
	f := c.Flags()
	f.StringVar(&o.Cluster, "cluster-id", "", "cluster that is meant")
	f.StringVar(&o.Region, "region", "", "limit it to this region")
	f.StringVar(&o.Account, "account", "", "limit it to this account")
	return c
}

func (o *policyOptions) validate() error {
	switch o.For {
	case "caller", "master", "agent":
	default:
		return usage.Errorf("whom it is for must be caller, master or agent (is %q)", o.For)
	}
	if o.Cluster != "" && !spec.ValidCluster(o.Cluster) {
		return usage.Errorf("--cluster-id: must be up to 31 lower-case letters, digits and inner dashes, a letter first (is %q)", o.Cluster)
	}
	return nil
}

func runPolicy(_ context.Context, o *policyOptions) error {
	return o.PrintJSON(wire.AWSPolicies(o.For, wire.AWSScope{Cluster: o.Cluster, Region: o.Region, Account: o.Account}))
}
