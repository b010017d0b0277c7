// Package task implements the commands that run and manage tasks.
package task

import (
	"strconv"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// New returns `det-deploy task`.
func New(s *term.Streams) *cobra.Command {
	return command.NewNoun(s, "task", "Run and manage tasks", "  det-deploy task run --slots 1 -- nvidia-smi\n  det-deploy task list",
		newRun, newRerun, newList, newLogs, newDescribe, newOpen, newWait, newPause, newResume, newKill, newExec, newPortForward, newCopy)
}

// NewPS returns the hidden `det-deploy ps`, which is `det-deploy task list`.
func NewPS(s *term.Streams) *cobra.Command {
	c := newList(s)
	c.Use, c.Hidden = "ps", true
	return c
}

// hasEnded reports whether a task has ended.
func hasEnded(c *apiv1.Command) bool { return c.GetState() == apiv1.Task_STATE_TERMINATED }

// formatNumber formats an integer of a configuration.
func formatNumber(f float64) string { return strconv.FormatInt(int64(f), 10) }
