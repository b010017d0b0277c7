// Package experiment implements the commands that manage experiments.
package experiment

import (
	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
)

// New returns `det-deploy experiment`.
func New(s *term.Streams) *cobra.Command {
	c := command.NewNoun(s, noun, "Manage experiments", "  det-deploy experiment preview search.yaml\n  det-deploy experiment list",
		newPreview, newCreate, newList, newDescribe, newHistory, newWait,
		newPause, newActivate, newCancel, newKill, newContinue, newFork, newSet, newLabel, newMove,
		newArchive, newUnarchive, newDownload, newDelete)
	c.Aliases = []string{"exp"}
	return c
}

const noun = "experiment"
