// Package k8s is what clusters on Kubernetes have of their own for commands.
package k8s

import (
	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/cluster"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
)

// Platform is Kubernetes.
type Platform struct{}

var _ cluster.Platform = Platform{}

// New returns `det-deploy k8s`.
func New(s *term.Streams) *cobra.Command {
	c := &cobra.Command{
		Use:   "k8s",
		Short: "Run a cluster on Kubernetes",
		Long: `Run a cluster in a namespace of a Kubernetes cluster: a master, its database, and
tasks as pods. It is a Helm release of the name that --cluster-id gives; helm list
shows it, and the same chart serves plain Helm and GitOps tools. Which Kubernetes is
meant, --kubeconfig, --context and --namespace say as they do to kubectl.`,
		Example: `  det-deploy k8s install --cluster-id lab --set imageRegistry=registry.example.com/team,maxSlotsPerPod=8
  det-deploy k8s status --cluster-id lab
  det-deploy k8s uninstall --cluster-id lab`,
	}
	c.AddCommand(cluster.Commands(s, Platform{})...)
	c.AddCommand(newValues(s, runValues), newTemplate(s, runTemplate), newInitSecrets(s, runInitSecrets), newImage(s))
	return c
}

// Name is what contexts say of where these clusters are.
func (Platform) Name() string { return "k8s" }

// About describes Kubernetes beside other platforms.
func (Platform) About() string { return "Kubernetes" }

// Location lists the flags that say where a cluster is.
func (Platform) Location() []string { return []string{"kubeconfig", "context", "namespace"} }

// Select returns the cluster of one command.
func (Platform) Select(s *term.Streams) cluster.Selection { return &wanted{Streams: s} }
