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
		Short:   "Run or inspect a master",
		Example: "  det-deploy master info\n  det-deploy master logs --follow",
	}
	c.AddCommand(newInfo(s, runInfo), newLogs(s, runLogs), newConfig(s),
		newRun(s, runRun), newInstall(s, runInstall), newJoinToken(s, runJoinToken), newRotateKeys(s, runRotateKeys),
		newRehearse(s, runRehearse), newBackup(s, runBackup), newRestore(s, runRestore))
	return c
}

// newConfig returns `det-deploy master config`.
func newConfig(s *term.Streams) *cobra.Command {
	c := &cobra.Command{
		Use:     "config",
		Short:   "Show or validate a master's configuration",
		Example: "  det-deploy master config show\n  det-deploy master config validate master.yaml",
	}
	c.AddCommand(newShow(s, runShow), newValidate(s, runValidate))
	return c
}
