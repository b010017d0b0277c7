// Package master implements the commands that inspect a cluster's master and the one that runs a master.
package master

import (
	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
)

// New returns `det-deploy master`.
func New(s *term.Streams) *cobra.Command {
	return command.NewNoun(s, "master", "Run or inspect a master", "  det-deploy master info\n  det-deploy master logs --follow",
		newInfo, newLogs, newConfig, newRun, newInstall, newUninstall, newJoinToken, newRotateKeys, newRehearse, newBackup, newRestore)
}

// newConfig returns `det-deploy master config`.
func newConfig(s *term.Streams) *cobra.Command {
	return command.NewNoun(s, "config", "Show or validate a master's configuration", "  det-deploy master config show\n  det-deploy master config validate master.yaml",
		newShow, newValidate)
}
