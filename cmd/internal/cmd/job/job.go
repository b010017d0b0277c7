// Package job is the commands about the queue: who waits for what, and who goes
// first.
package job

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// New returns `det-deploy job`.
func New(s *term.Streams) *cobra.Command {
	c := &cobra.Command{
		Use:     "job",
		Short:   "Manage the job queue",
		Example: "  det-deploy job list\n  det-deploy job update 7c2e --priority 10",
	}
	c.AddCommand(newList(s, runList), newUpdate(s, runUpdate))
	return c
}

func stateOf(j *apiv1.Job) string {
	s := strings.TrimPrefix(j.GetSummary().GetState().String(), "STATE_")
	return strings.ReplaceAll(strings.ToLower(s), "_", " ")
}
