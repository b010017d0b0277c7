// Package model implements the commands that show the model registry.
package model

import (
	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
)

// New returns `det-deploy model`.
func New(s *term.Streams) *cobra.Command {
	return command.NewNoun(s, "model", "Show registered models", "  det-deploy model list\n  det-deploy model describe digits",
		newList, newDescribe)
}
