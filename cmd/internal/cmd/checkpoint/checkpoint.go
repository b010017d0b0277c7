// Package checkpoint is the commands about what trials saved.
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

// stateOf is a checkpoint's state in words; one that waits for its deletion is deleting.
func stateOf(c *apiv1.Checkpoint) string {
	if c.GetDeletion() != nil {
		return deleting
	}
	return show.Enum(c.GetState(), "STATE_")
}

// bytesOf is the size of all files.
func bytesOf(c *apiv1.Checkpoint) (n int64) {
	for _, size := range c.GetResources() {
		n += size
	}
	return n
}

// stepsOf is how far the training was, as the program says.
func stepsOf(c *apiv1.Checkpoint) int64 {
	return int64(c.GetMetadata().GetFields()["steps_completed"].GetNumberValue())
}
