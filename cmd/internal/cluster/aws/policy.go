package aws

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/cluster"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	awswire "github.com/det-deploy/det-deploy/cmd/internal/wire/aws"
)

type policyOptions struct {
	*term.Streams

	For   string
	Scope awswire.Scope
	// Sessions allows access to the machines by Session Manager.
	Sessions bool
}

func newPolicy(s *term.Streams, run func(context.Context, *policyOptions) error) *cobra.Command {
	o := &policyOptions{Streams: s}
	c := &cobra.Command{
		Use:   "policy [caller|caller-machines|caller-roles-and-data|master|agent]",
		Short: "Print the IAM policies that det-deploy needs",
		Long: `Print the IAM policies that have to be attached: to the caller, who installs and
removes clusters, or to roles of one's own for the master and the agents. Whatever
is not said, such as the cluster, is left open in them. Nothing is asked of AWS.

The caller's permissions are two policies, because one would be longer than IAM
allows: "caller" lists both with their names, and each by its name is a document
that aws iam create-policy takes as it is.

What the cluster uses that was there before is said by the flags of aws up: a
bucket, volume, log group or secret is then used and never changed.`,
		Example: `  det-deploy aws policy
  det-deploy aws policy caller-machines >machines.json
  aws iam create-policy --policy-name det-deploy-machines --policy-document file://machines.json
  det-deploy aws policy master --cluster-id lab --account 123456789012 --region us-west-2`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			o.For = cmp.Or(strings.Join(args, ""), "caller")
			if err := o.validate(); err != nil {
				return err
			}
			return run(c.Context(), o)
		},
	}
	f := c.Flags()
	cluster.AddID(f, &o.Scope.Cluster, "")
	f.StringVar(&o.Scope.Region, "region", "", "limit it to this region")
	f.StringVar(&o.Scope.Account, "account", "", "limit it to this account")
	f.StringVar(&o.Scope.MasterRole, "master-role", "", "existing IAM role of the master")
	f.StringVar(&o.Scope.AgentRole, "agent-role", "", "existing IAM role of agents")
	f.StringVar(&o.Scope.DataBucket, "data-bucket", "", "existing bucket for checkpoints")
	f.StringVar(&o.Scope.Volume, "data-volume", "", "existing volume for the master's data")
	f.StringVar(&o.Scope.LogGroup, "log-group", "", "CloudWatch log group")
	f.StringSliceVar(&o.Scope.Secrets, "existing-secret", nil, "existing secret of Secrets Manager that the configuration refers to")
	f.StringSliceVar(&o.Scope.Keys, "kms-key", nil, "ARN of a customer-managed KMS key for disks")
	f.BoolVar(&o.Sessions, "session-manager", true, "allow AWS Session Manager")
	return c
}

func (o *policyOptions) validate() error {
	if all := append(awswire.Callers(), "caller", "master", "agent"); !slices.Contains(all, o.For) {
		return usage.Errorf("whom it is for must be caller, %s, master or agent (is %q)", strings.Join(awswire.Callers(), ", "), o.For)
	}
	for _, k := range o.Scope.Keys {
		if !strings.HasPrefix(k, "arn:") || !strings.Contains(k, ":key/") {
			return usage.Errorf("--kms-key: must be the ARN of a key, as in arn:aws:kms:us-west-2:123456789012:key/… (is %q)", k)
		}
	}
	if o.Scope.Cluster != "" {
		if err := cluster.CheckID(o.Scope.Cluster); err != nil {
			return err
		}
	}
	return checkRegion(o.Scope.Region)
}

func runPolicy(_ context.Context, o *policyOptions) error {
	o.Scope.NoSessions = !o.Sessions
	return o.PrintJSON(awswire.Policies(o.For, o.Scope))
}
