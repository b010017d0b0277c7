package aws

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
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
	// Directory receives a file for each policy. If it is empty, the policies are printed.
	Directory string
	// Sessions allows access to the machines by Session Manager.
	Sessions bool
}

func newPolicy(s *term.Streams, run func(context.Context, *policyOptions) error) *cobra.Command {
	o := &policyOptions{Streams: s}
	c := &cobra.Command{
		Use:   "policy [caller|caller-machines|caller-roles-and-data|master|agent]",
		Short: "Print the IAM policies that det-deploy needs",
		Long: `Print the IAM policies to attach: to the caller, who installs and removes
clusters, or to existing roles of the master and the agents. Unset flags, such as
--cluster-id, leave the policies unrestricted. No AWS calls are made.

The caller's permissions are split into two policies because of the size limit of
IAM: "caller" prints both with their names, and the name of a policy prints a
document that aws iam create-policy accepts. --directory writes each policy to such
a file, as caller-machines.json.

For existing resources, give the same flags as for aws up: a bucket, volume, log
group or secret is then used and never changed.`,
		Example: `  det-deploy aws policy
  det-deploy aws policy --directory policies
  aws iam create-policy --policy-name caller-machines --policy-document file://policies/caller-machines.json
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
	f.StringVar(&o.Directory, "directory", "", "directory to which to write each policy as a file")
	f.StringVar(&o.Scope.Region, "region", "", "limit the policies to this region")
	f.StringVar(&o.Scope.Account, "account", "", "limit the policies to this account")
	f.StringVar(&o.Scope.MasterRole, "master-role", "", "existing IAM role of the master")
	f.StringVar(&o.Scope.AgentRole, "agent-role", "", "existing IAM role of agents")
	f.StringVar(&o.Scope.DataBucket, "data-bucket", "", "existing bucket for checkpoints")
	f.StringVar(&o.Scope.Volume, "data-volume", "", "existing volume for the master's data")
	f.StringVar(&o.Scope.LogGroup, "log-group", "", "CloudWatch log group")
	f.StringSliceVar(&o.Scope.Secrets, "existing-secret", nil, "existing Secrets Manager secret that the configuration references; repeatable")
	f.StringSliceVar(&o.Scope.Keys, "kms-key", nil, "ARN of a customer-managed KMS key for disks; repeatable")
	f.BoolVar(&o.Sessions, "session-manager", true, "allow AWS Session Manager")
	return c
}

func (o *policyOptions) validate() error {
	if all := append(awswire.Callers(), "caller", "master", "agent"); !slices.Contains(all, o.For) {
		return usage.Errorf("unknown policy %[2]q; choose caller, %[1]s, master or agent", strings.Join(awswire.Callers(), ", "), o.For)
	}
	for _, k := range o.Scope.Keys {
		if !strings.HasPrefix(k, "arn:") || !strings.Contains(k, ":key/") {
			return usage.Errorf("--kms-key: must be the ARN of a key, such as arn:aws:kms:us-west-2:123456789012:key/… (is %q)", k)
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
	if o.Directory != "" {
		return writePolicies(o)
	}
	return o.PrintJSON(awswire.Policies(o.For, o.Scope))
}

// writePolicies writes each policy to a file, and prints the names of the files.
func writePolicies(o *policyOptions) error {
	files, err := awswire.PolicyFiles(o.For, o.Scope)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(o.Directory, 0o755); err != nil {
		return fmt.Errorf("create --directory: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join(o.Directory, name)
		if err := os.WriteFile(path, files[name], 0o644); err != nil {
			return fmt.Errorf("write a policy: %w", err)
		}
		o.Printf("%s", path)
	}
	return nil
}
