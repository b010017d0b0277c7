// Package resources implements the commands that show the usage of a cluster and its cost.
package resources

import (
	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
)

// New returns `det-deploy resources`.
func New(s *term.Streams) *cobra.Command {
	return command.NewNoun(s, "resources", "Show resource usage",
		"  det-deploy resources usage --by project --since 720h", newUsage)
}
