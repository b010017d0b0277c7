// Package task is the commands that run programs on a cluster and look after
// them.
package task

import (
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// New returns `det-deploy task`.
func New(s *term.Streams) *cobra.Command {
	c := &cobra.Command{
		Use:     "task",
		Short:   "Run and manage tasks",
		Example: "  det-deploy task run --slots 1 -- nvidia-smi\n  det-deploy task list",
	}
	c.AddCommand(newRun(s, runRun), newList(s, runList), newLogs(s, runLogs), newDescribe(s, runDescribe), newKill(s, runKill))
	return c
}

// stateOf is a state in the words of a table: "running".
func stateOf(s apiv1.Task_State) string {
	return strings.ToLower(strings.TrimPrefix(s.String(), "STATE_"))
}

// hasEnded reports whether a command has come to its end.
func hasEnded(c *apiv1.Command) bool { return c.GetState() == apiv1.Task_STATE_TERMINATED }

// formatNumber prints a whole number of a configuration.
func formatNumber(f float64) string { return strconv.FormatInt(int64(f), 10) }
