// Package aws implements the commands for clusters on AWS.
package aws

import (
	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/cluster"
	"github.com/det-deploy/det-deploy/cmd/internal/cluster/clouds"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
)

// name identifies AWS in commands and contexts.
const name = "aws"

// Platform implements cluster.Platform for AWS.
type Platform struct{}

// New returns `det-deploy aws`.
func New(s *term.Streams) *cobra.Command {
	c := &cobra.Command{
		Use:   "aws",
		Short: "Run a cluster on AWS",
		Long: `Run a cluster in an AWS account: a master on its own machine, and agents that
the master launches for waiting tasks and removes when they are idle. Clusters
are identified by their ID alone; credentials and region have the same sources
as in the aws command line.`,
		Example: `  det-deploy aws up --cluster-id lab
  det-deploy aws status --cluster-id lab
  det-deploy aws down --cluster-id lab`,
	}
	c.AddCommand(cluster.Commands(s, Platform{})...)
	c.AddCommand(newPolicy(s, runPolicy))
	return c
}

// Name returns the platform's name in contexts.
func (Platform) Name() string { return name }

// About describes AWS in the list of platforms.
func (Platform) About() string { return "Amazon's cloud" }

// Location lists the flags that locate a cluster.
func (Platform) Location() []string { return []string{"region", "profile"} }

// Select returns the selection of a single command.
func (Platform) Select(s *term.Streams) cluster.Selection {
	return clouds.NewSelection(s, new(provider))
}

// Help returns the help texts specific to AWS.
func (Platform) Help(v cluster.Verb) (cluster.Help, bool) {
	h := map[cluster.Verb]cluster.Help{
		cluster.Up: {Example: `  det-deploy aws up --cluster-id lab
  det-deploy aws up --cluster-id lab --region us-west-2 --inbound-cidr 203.0.113.7/32 --instance-type g5.xlarge --yes
  det-deploy aws up --config-file cluster.yaml --dry-run`},
		cluster.Plan: {Example: "  det-deploy aws plan --cluster-id lab --max-agents 10"},
		cluster.Doctor: {Example: `  det-deploy aws doctor --cluster-id lab --instance-type p4d.24xlarge
  det-deploy aws doctor --cluster-id lab --output json`},
		cluster.List: {Short: "List clusters of an AWS account", Example: `  det-deploy aws list
  det-deploy aws list --all-regions --output json`},
		cluster.Logs: clouds.LogsHelp(newWords(), "CloudWatch", "i-0ab1c2"),
		cluster.Upgrade: {Example: `  det-deploy aws upgrade --cluster-id lab
  det-deploy aws upgrade --cluster-id lab --binary arm64=./det-deploy-arm64 --yes`},
	}[v]
	h.On = newWords().On
	return h, true
}
