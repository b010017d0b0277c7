// Package job implements the commands that show and change the job queue.
package job

import (
	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
)

// New returns `det-deploy job`.
func New(s *term.Streams) *cobra.Command {
	return command.NewNoun(s, "job", "Manage the job queue", "  det-deploy job list\n  det-deploy job update 7c2e --priority 10",
		newList, newUpdate)
}
