// Package agent implements the commands that manage a cluster's agents and the one that runs an agent on
// this machine.
package agent

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// New returns `det-deploy agent`.
func New(s *term.Streams) *cobra.Command {
	return command.NewNoun(s, "agent", "Manage agents", "  det-deploy agent list\n  det-deploy agent disable i-0abc --drain",
		newList, newEnable, newDisable, newRevoke, newAdmit, newJoinToken, newRun, newInstall, newUninstall, newConfig, newSweep)
}

// newConfig returns `det-deploy agent config`.
func newConfig(s *term.Streams) *cobra.Command {
	return command.NewNoun(s, "config", "Validate an agent's configuration", "  det-deploy agent config validate agent.yaml",
		newValidate)
}

// nameDevices summarizes the devices of an agent, as in "8 × NVIDIA A100".
func nameDevices(a *apiv1.Agent) string {
	counts := map[string]int{}
	for _, s := range a.GetSlots() {
		d := s.GetDevice()
		counts[cmp.Or(d.GetBrand(), strings.TrimPrefix(d.GetType().String(), "TYPE_"))]++
	}
	parts := make([]string, 0, len(counts))
	for _, brand := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, countOf(counts[brand], brand))
	}
	return strings.Join(parts, ", ")
}
