// Package k8s is the commands about clusters on Kubernetes.
package k8s

import (
	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
)

// New returns `det-deploy k8s`.
func New(s *term.Streams) *cobra.Command {
	c := &cobra.Command{
		Use:     "k8s",
		Short:   "Clusters on Kubernetes",
		Example: "  det-deploy k8s init-secrets --cluster-id lab --key admin-password",
	}
	c.AddCommand(newInitSecrets(s, runInitSecrets))
	return c
}
