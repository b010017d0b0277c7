// Package pool implements the commands that show a cluster's resource pools.
package pool

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// New returns `det-deploy pool`.
func New(s *term.Streams) *cobra.Command {
	return command.NewNoun(s, "pool", "Show resource pools", "  det-deploy pool list\n  det-deploy pool describe gpu\n  det-deploy pool history gpu",
		newList, newDescribe, newHistory)
}

// describeDefaults lists the kinds of tasks for which a pool is the default.
func describeDefaults(p *apiv1.ResourcePool) string {
	var out []string
	if p.GetDefaultComputePool() {
		out = append(out, "compute")
	}
	if p.GetDefaultAuxPool() {
		out = append(out, "auxiliary")
	}
	return strings.Join(out, ", ")
}
