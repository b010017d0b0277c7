// Package experiment is the commands about experiments: searches over trials.
package experiment

import (
	"strconv"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
)

// New returns `det-deploy experiment`.
func New(s *term.Streams) *cobra.Command {
	return command.NewNoun(s, "experiment", "Look at and manage experiments", "  det-deploy experiment preview search.yaml\n  det-deploy experiment list",
		newPreview, newCreate, newList, newDescribe, newHistory,
		newPause, newActivate, newCancel, newKill, newArchive, newUnarchive, newDelete)
}

// readID reads the number of an experiment.
func readID(text string) (int32, error) {
	id, err := strconv.ParseInt(text, 10, 32)
	if err != nil || id < 1 {
		return 0, usage.Errorf("EXPERIMENT must be a number from 1, as `det-deploy experiment list` shows it (%q)", text)
	}
	return int32(id), nil
}
