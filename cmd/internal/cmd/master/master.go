// Package master is the commands about a cluster's master, and the one that
// makes this process a master.
package master

import (
	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
)

// New returns `det-deploy master`.
func New(s *term.Streams) *cobra.Command {
	c := &cobra.Command{
		Use:     "master",
		Short:   "Look at a master, or be one",
		Example: "  det-deploy master info\n  det-deploy master logs --follow",
	}
	c.AddCommand(newInfo(s, runInfo), newLogs(s, runLogs), newConfig(s))
	return c
}

// newConfig returns `det-deploy master config`.
func newConfig(s *term.Streams) *cobra.Command {
	c := &cobra.Command{
		Use:     "config",
		Short:   "Look at the configuration of a master",
		Example: "  det-deploy master config show",
	}
	c.AddCommand(newShow(s, runShow))
	return c
}
