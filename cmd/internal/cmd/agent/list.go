package agent

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/contexts"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

type listOptions struct {
	*term.Streams
	contexts.Target

	BySlot  bool
	Revoked bool
	Output  term.Format
}

func newList(s *term.Streams, run func(context.Context, *listOptions) error) *cobra.Command {
	o := &listOptions{Streams: s}
	c := &cobra.Command{
		Use:     "list",
		Short:   "List the agents of the cluster, or all their slots",
		Example: "  det-deploy agent list\n  det-deploy agent list --by-slot",
		Args:    usage.Args(),
		RunE: func(c *cobra.Command, _ []string) error {
			if o.BySlot && o.Revoked {
				return usage.Errorf("--by-slot and --revoked exclude each other")
			}
			return run(c.Context(), o)
		},
	}
	c.Flags().BoolVar(&o.BySlot, "by-slot", false, "one line per slot")
	c.Flags().BoolVar(&o.Revoked, "revoked", false, "list revoked agents")
	o.AddFlag(c.Flags())
	o.Output.AddFlag(c.Flags())
	return c
}

func runList(ctx context.Context, o *listOptions) error {
	master, err := o.Dial(o.Streams)
	if err != nil {
		return err
	}
	defer master.Close()
	if o.Revoked {
		return o.listRevoked(ctx, master)
	}
	agents, err := master.Agents(ctx)
	if err != nil {
		return err
	}
	slices.SortFunc(agents, func(x, y *apiv1.Agent) int { return cmp.Compare(x.GetId(), y.GetId()) })
	switch {
	case o.Output == term.JSON:
		return o.PrintMessage(&apiv1.GetAgentsResponse{Agents: agents})
	case o.BySlot:
		return o.PrintTable(slotTable(agents))
	default:
		defer o.explainSick(agents)
		return o.PrintTable(agentTable(agents))
	}
}

// explainSick says of each agent that cannot start containers why.
func (o *listOptions) explainSick(agents []*apiv1.Agent) {
	for _, a := range agents {
		if s := a.GetSick(); s != nil {
			o.Notef("Agent %s has been unable to start containers since %s: %s", a.GetId(), localTime(s.GetSince()), s.GetReason())
		}
	}
}

func (o *listOptions) listRevoked(ctx context.Context, master *client.Client) error {
	list, err := master.RevokedAgents(ctx)
	if err != nil {
		return err
	}
	if o.Output == term.JSON {
		return o.PrintMessage(&apiv1.GetRevokedAgentsResponse{Agents: list})
	}
	t := term.NewTable("AGENT", "REVOKED", "BY")
	for _, a := range list {
		t.Row(a.GetId(), localTime(a.GetRevokedAt()), a.GetRevokedBy())
	}
	return o.PrintTable(t)
}

func agentTable(agents []*apiv1.Agent) *term.Table {
	t := term.NewTable("AGENT", "STATE", "POOL", "BUSY", "DEVICES", "SINCE", "ADDRESS", "VERSION")
	for _, a := range agents {
		used, all := countBusy(a)
		t.Row(a.GetId(), stateOf(a), strings.Join(a.GetResourcePools(), ","), fmt.Sprintf("%d/%d", used, all), nameDevices(a),
			a.GetRegisteredTime().AsTime().Local().Format(time.DateTime), strings.Join(a.GetAddresses(), ","), cmp.Or(a.GetDetDeployVersion(), a.GetVersion()))
	}
	return t
}

func slotTable(agents []*apiv1.Agent) *term.Table {
	t := term.NewTable("AGENT", "SLOT", "STATE", "DEVICE", "CONTAINER")
	for _, a := range agents {
		for _, key := range slices.Sorted(maps.Keys(a.GetSlots())) {
			s := a.GetSlots()[key]
			t.Row(a.GetId(), s.GetId(), slotState(s), s.GetDevice().GetBrand(), s.GetContainer().GetId())
		}
	}
	return t
}

func slotState(s *apiv1.Slot) string {
	switch {
	case s.GetDraining():
		return "draining"
	case !s.GetEnabled():
		return "disabled"
	case s.GetContainer() != nil:
		return "busy"
	default:
		return "free"
	}
}

// countOf is a count of like things.
func countOf(n int, what string) string { return fmt.Sprintf("%d × %s", n, what) }
