// Package trial implements the commands that manage the trials of experiments.
package trial

import (
	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
)

// New returns `det-deploy trial`.
func New(s *term.Streams) *cobra.Command {
	return command.NewNoun(s, noun, "Manage trials of experiments", "  det-deploy trial list 7\n  det-deploy trial logs 12 --follow",
		newList, newDescribe, newMetrics, newLogs, newKill)
}

const noun = "trial"
