// Package checkpoint implements the commands that manage checkpoints.
package checkpoint

import (
	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/show"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// New returns `det-deploy checkpoint`.
func New(s *term.Streams) *cobra.Command {
	return command.NewNoun(s, "checkpoint", "List, download and delete checkpoints",
		"  det-deploy checkpoint list --experiment 7\n  det-deploy checkpoint download 5d1f6f2e-0f7e-4d8e-9d3b-0c3c1d1c2b3a",
		newList, newDescribe, newDownload, newDelete)
}

// stateOf returns the state of a checkpoint. It is deleting as soon as the deletion was requested.
func stateOf(c *apiv1.Checkpoint) string {
	if c.GetDeletion() != nil {
		return deleting
	}
	return show.Enum(c.GetState(), "STATE_")
}

// bytesOf returns the total size of a checkpoint's files.
func bytesOf(c *apiv1.Checkpoint) (n int64) {
	for _, size := range c.GetResources() {
		n += size
	}
	return n
}

// stepsOf returns the number of completed steps that the training program reported.
func stepsOf(c *apiv1.Checkpoint) int64 {
	return int64(c.GetMetadata().GetFields()["steps_completed"].GetNumberValue())
}
