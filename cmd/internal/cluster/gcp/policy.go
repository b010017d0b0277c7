package gcp

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	gcpwire "github.com/det-deploy/det-deploy/cmd/internal/wire/gcp"
)

type policyOptions struct {
	*term.Streams

	For string
}

func newPolicy(s *term.Streams, run func(context.Context, *policyOptions) error) *cobra.Command {
	o := &policyOptions{Streams: s}
	return &cobra.Command{
		Use:   "policy [caller|master|agent]",
		Short: "Print the IAM roles that det-deploy needs",
		Long: `Print the custom role to grant in the project: to the caller, who installs and
removes clusters, or to existing service accounts of the master and the agents.
The output is a document for gcloud iam roles create. No Google calls are made.

up creates accounts and roles for master and agents, unless
--master-service-account and --agent-service-account name existing ones.`,
		Example: `  det-deploy gcp policy >installer.yaml
  gcloud iam roles create detDeployInstaller --project my-lab-123 --file installer.yaml
  det-deploy gcp policy master`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			o.For = cmp.Or(strings.Join(args, ""), "caller")
			if err := o.validate(); err != nil {
				return err
			}
			return run(c.Context(), o)
		},
	}
}

func (o *policyOptions) validate() error {
	if !slices.Contains([]string{"caller", "master", "agent"}, o.For) {
		return usage.Errorf("unknown role %q; choose caller, master or agent", o.For)
	}
	return nil
}

func runPolicy(_ context.Context, o *policyOptions) error {
	text, err := gcpwire.Role(o.For)
	if err != nil {
		return err
	}
	o.Printf("%s", strings.TrimSuffix(text, "\n"))
	return nil
}
