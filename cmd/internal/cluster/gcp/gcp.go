// Package gcp implements the commands for clusters on Google Cloud.
package gcp

import (
	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/cluster"
	"github.com/det-deploy/det-deploy/cmd/internal/cluster/clouds"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
)

// name identifies Google Cloud in commands and contexts.
const name = "gcp"

// Platform implements cluster.Platform for Google Cloud.
type Platform struct{}

// New returns `det-deploy gcp`.
func New(s *term.Streams) *cobra.Command {
	c := &cobra.Command{
		Use:   "gcp",
		Short: "Run a cluster on Google Cloud",
		Long: `Run a cluster in a Google project: a master on its own machine, and agents that
the master launches for waiting tasks and removes when they are idle. Clusters
are identified by their ID alone; credentials, project and region have the same
sources as in gcloud and Google's libraries.`,
		Example: `  det-deploy gcp up --cluster-id lab
  det-deploy gcp status --cluster-id lab
  det-deploy gcp down --cluster-id lab`,
	}
	c.AddCommand(cluster.Commands(s, Platform{})...)
	c.AddCommand(newPolicy(s, runPolicy))
	return c
}

// Name returns the platform's name in contexts.
func (Platform) Name() string { return name }

// About describes Google Cloud in the list of platforms.
func (Platform) About() string { return "Google's cloud" }

// Location lists the flags that locate a cluster.
func (Platform) Location() []string { return []string{"project", "region", "impersonate"} }

// Select returns the selection of a single command.
func (Platform) Select(s *term.Streams) cluster.Selection {
	return clouds.NewSelection(s, new(provider))
}

// Help returns the help texts specific to Google Cloud.
func (Platform) Help(v cluster.Verb) (cluster.Help, bool) {
	h := map[cluster.Verb]cluster.Help{
		cluster.Up: {Example: `  det-deploy gcp up --cluster-id lab
  det-deploy gcp up --cluster-id lab --region us-central1 --inbound-cidr 203.0.113.7/32 --machine n1-standard-8+1xnvidia-tesla-t4 --yes
  det-deploy gcp up --config-file cluster.yaml --dry-run`},
		cluster.Plan: {Example: "  det-deploy gcp plan --cluster-id lab --max-agents 10"},
		cluster.Doctor: {Example: `  det-deploy gcp doctor --cluster-id lab --machine a2-highgpu-8g
  det-deploy gcp doctor --cluster-id lab --output json`},
		cluster.List: {Short: "List clusters of a Google project", Example: `  det-deploy gcp list
  det-deploy gcp list --project my-lab-123 --output json`},
		cluster.Logs: clouds.LogsHelp(newWords(), "Cloud Logging", "det-lab-master"),
		cluster.Upgrade: {Example: `  det-deploy gcp upgrade --cluster-id lab
  det-deploy gcp upgrade --cluster-id lab --binary arm64=./det-deploy-arm64 --yes`},
	}[v]
	h.On = newWords().On
	return h, true
}
