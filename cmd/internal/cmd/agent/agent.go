// Package agent is the commands about the machines of a cluster, and the one
// that makes this machine an agent.
package agent

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// New returns `det-deploy agent`.
func New(s *term.Streams) *cobra.Command {
	c := &cobra.Command{
		Use:     "agent",
		Short:   "Manage agents",
		Example: "  det-deploy agent list\n  det-deploy agent disable i-0abc --drain",
	}
	c.AddCommand(newList(s, runList), newEnable(s, runEnable), newDisable(s, runDisable), newRevoke(s, runRevoke),
		newAdmit(s, runAdmit), newJoinToken(s),
		newRun(s, runRun), newInstall(s, runInstall), newConfig(s), newSweep(s, runSweep), newKeep(s, runKeep))
	return c
}

// newConfig returns `det-deploy agent config`.
func newConfig(s *term.Streams) *cobra.Command {
	c := &cobra.Command{
		Use:     "config",
		Short:   "Validate an agent's configuration",
		Example: "  det-deploy agent config validate agent.yaml",
	}
	c.AddCommand(newValidate(s, runValidate))
	return c
}

// which is the agents, or the one slot of one agent, that a command changes.
type which struct {
	IDs  []string
	All  bool
	Slot string

	Output term.Format
}

// changed is what a command has changed; the slots of which --slot named one.
type changed struct {
	agents []*apiv1.Agent
	slots  []*apiv1.Slot
}

func (w *which) addFlags(f *pflag.FlagSet) {
	f.BoolVarP(&w.All, "all", "a", false, "all agents")
	f.StringVar(&w.Slot, "slot", "", "change only this slot")
	w.Output.AddFlag(f)
}

// printChanged prints what was changed, also where something else could not be.
func (w *which) printChanged(s *term.Streams, done changed) error {
	switch {
	case w.Output != term.JSON:
		return nil
	case w.Slot != "":
		return s.PrintMessage(&apiv1.GetSlotsResponse{Slots: done.slots})
	}
	return s.PrintMessage(&apiv1.GetAgentsResponse{Agents: done.agents})
}

// printLine tells a person; JSON says it all by itself.
func (w *which) printLine(s *term.Streams, format string, args ...any) {
	if w.Output != term.JSON {
		s.Notef(format, args...)
	}
}

func (w *which) validate() error {
	switch {
	case w.All && len(w.IDs) > 0:
		return usage.Errorf("--all and names of agents exclude each other")
	case !w.All && len(w.IDs) == 0:
		return usage.Errorf("AGENT is missing; --all selects every agent")
	case w.Slot != "" && len(w.IDs) != 1:
		return usage.Errorf("--slot needs exactly one AGENT")
	}
	return nil
}

// forEach calls do for every selected agent, and continues after one that fails.
func (w *which) forEach(ctx context.Context, master *client.Client, do func(id string) error) error {
	ids := w.IDs
	if w.All {
		agents, err := master.Agents(ctx)
		if err != nil {
			return err
		}
		for _, a := range agents {
			ids = append(ids, a.GetId())
		}
	}
	var errs []error
	for _, id := range ids {
		errs = append(errs, do(id))
	}
	return errors.Join(errs...)
}

// stateOf is an agent in one word.
func stateOf(a *apiv1.Agent) string {
	switch {
	case a.GetSick() != nil:
		return "sick (" + a.GetSick().GetLack() + ")"
	case a.GetDraining():
		return "draining"
	case !a.GetEnabled():
		return "disabled"
	default:
		return "enabled"
	}
}

// countBusy counts the slots that run something, of those that there are.
func countBusy(a *apiv1.Agent) (used, all int) {
	for _, s := range a.GetSlots() {
		all++
		if s.GetContainer() != nil {
			used++
		}
	}
	return used, all
}

// nameDevices names the kinds of devices of an agent: "8 × NVIDIA A100".
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
