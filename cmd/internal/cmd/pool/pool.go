// Package pool is the commands about the resource pools of a cluster.
package pool

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// New returns `det-deploy pool`.
func New(s *term.Streams) *cobra.Command {
	c := &cobra.Command{
		Use:     "pool",
		Short:   "Show resource pools",
		Example: "  det-deploy pool list\n  det-deploy pool describe gpu\n  det-deploy pool history gpu",
	}
	c.AddCommand(newList(s, runList), newDescribe(s, runDescribe), newHistory(s, runHistory))
	return c
}

// enumWord is an enum's value in the words of a table: RESOURCE_POOL_TYPE_AWS is
// "aws".
func enumWord(value fmt.Stringer, prefix string) string {
	s := strings.ToLower(strings.TrimPrefix(value.String(), prefix))
	return strings.ReplaceAll(strings.TrimSuffix(s, "unspecified"), "_", " ")
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
