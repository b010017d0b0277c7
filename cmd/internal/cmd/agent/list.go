package agent

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/show"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

type listOptions struct {
	command.Remote

	BySlot  bool
	Revoked bool
}

func newList(s *term.Streams) *cobra.Command {
	o := &listOptions{}
	c := command.NewRemote(s, o, runList, &cobra.Command{
		Use: "list", Short: "List agents or their slots",
		Example: "  det-deploy agent list\n  det-deploy agent list --by-slot",
	})
	c.Flags().BoolVar(&o.BySlot, "by-slot", false, "list slots, one per line")
	c.Flags().BoolVar(&o.Revoked, "revoked", false, "list revoked agents")
	return c
}

func (o *listOptions) Validate() error {
	if o.BySlot && o.Revoked {
		return usage.Errorf("use either --by-slot or --revoked")
	}
	return nil
}

func runList(ctx context.Context, o *listOptions, master *client.Client) error {
	if o.Revoked {
		return o.listRevoked(ctx, master)
	}
	agents, err := master.Agents(ctx)
	if err != nil {
		return err
	}
	slices.SortFunc(agents, func(x, y *apiv1.Agent) int { return cmp.Compare(x.GetId(), y.GetId()) })
	reply := &apiv1.GetAgentsResponse{Agents: agents}
	if o.BySlot {
		return o.AnswerTable(reply, slotTable(agents))
	}
	defer o.explain(agents)
	return o.AnswerTable(reply, agentTable(agents))
}

// explain prints the reason for each agent that cannot start containers or is restricted.
func (o *listOptions) explain(agents []*apiv1.Agent) {
	for _, a := range agents {
		for _, line := range show.Restrictions(a) {
			o.Tell("Agent %s: %s", a.GetId(), line)
		}
		if s := a.GetSick(); s != nil {
			o.Tell("Agent %s has been unable to start containers since %s: %s", a.GetId(), show.Time(s.GetSince()), s.GetReason())
		}
	}
}

func (o *listOptions) listRevoked(ctx context.Context, master *client.Client) error {
	list, err := master.RevokedAgents(ctx)
	if err != nil {
		return err
	}
	t := term.NewTable("AGENT", "REVOKED", "BY")
	for _, a := range list {
		t.Row(a.GetId(), show.Time(a.GetRevokedAt()), a.GetRevokedBy())
	}
	return o.AnswerTable(&apiv1.GetRevokedAgentsResponse{Agents: list}, t)
}

func agentTable(agents []*apiv1.Agent) *term.Table {
	t := term.NewTable("AGENT", "STATE", "POOL", "BUSY", "DEVICES", "SINCE", "ADDRESS", "VERSION")
	for _, a := range agents {
		used, all := show.CountBusy(a)
		t.Row(a.GetId(), show.AgentState(a), strings.Join(a.GetResourcePools(), ","), fmt.Sprintf("%d/%d", used, all), nameDevices(a),
			show.Time(a.GetRegisteredTime()), strings.Join(a.GetAddresses(), ","), cmp.Or(a.GetDetDeployVersion(), a.GetVersion()))
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

// countOf formats a number of equal items.
func countOf(n int, what string) string { return fmt.Sprintf("%d × %s", n, what) }
