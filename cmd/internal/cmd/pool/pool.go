// Package pool is the commands about the resource pools of a cluster.
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

// describeDefaults says what a pool is the default for.
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
