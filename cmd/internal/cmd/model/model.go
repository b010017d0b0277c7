// Package model implements the commands of the model registry.
package model

import (
	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
)

// New returns `det-deploy model`.
func New(s *term.Streams) *cobra.Command {
	return command.NewNoun(s, "model", "Manage registered models", "  det-deploy model list\n  det-deploy model register digits 5d1f6f2e",
		newList, newDescribe, newCreate, newRegister, newEdit, newEditVersion, newMove, newArchive, newUnarchive, newDelete, newDeleteVersion)
}
