// Package trial is the commands about the trials of experiments.
package trial

import (
	"strconv"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
)

// New returns `det-deploy trial`.
func New(s *term.Streams) *cobra.Command {
	return command.NewNoun(s, "trial", "Look at and end trials of experiments", "  det-deploy trial list 7\n  det-deploy trial logs 12 --follow",
		newList, newDescribe, newMetrics, newLogs, newKill)
}

// readID reads a number that is an argument.
func readID(name, text string) (int32, error) {
	id, err := strconv.ParseInt(text, 10, 32)
	if err != nil || id < 1 {
		return 0, usage.Errorf("%s must be a number from 1 (%q)", name, text)
	}
	return int32(id), nil
}
