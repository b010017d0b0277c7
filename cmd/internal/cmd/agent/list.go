package agent

import (
	"cmp"
	"context"
	"fmt"
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
	Pool    string
}

func newList(s *term.Streams) *cobra.Command {
	o := &listOptions{Remote: command.Remote{Local: command.Local{Shows: true}}}
	c := command.NewRemote(s, o, runList, &cobra.Command{
		Use: "list", Short: "List agents or their slots",
		Example: "  det-deploy agent list\n  det-deploy agent list --by-slot",
	})
	o.AddListFlags(c, agentList().ColumnNames())
	c.Flags().BoolVar(&o.BySlot, "by-slot", false, "list slots, one per line")
	c.Flags().BoolVar(&o.Revoked, "revoked", false, "list revoked agents")
	c.Flags().StringVar(&o.Pool, "pool", "", "show only this pool")
	o.CompleteFlag(c, "pool", client.Pools)
	return c
}

func (o *listOptions) Validate() error {
	if o.BySlot && o.Revoked {
		return usage.Errorf("use either --by-slot or --revoked")
	}
	return nil
}

func runList(ctx context.Context, o *listOptions, master *client.Client) error {
	switch {
	case o.Revoked:
		return revokedList().Run(ctx, o, master)
	case o.BySlot:
		return slotList().Run(ctx, o, master)
	}
	list := agentList()
	if o.Pool != "" {
		list.None = "No agents are connected to pool " + o.Pool + "."
	}
	return list.Run(ctx, o, master)
}

type agentItems = command.List[*listOptions, *apiv1.Agent]

func agentList() agentItems {
	return agentItems{
		Fetch: fetchAgents,
		Reply: func(agents []*apiv1.Agent) any { return &apiv1.GetAgentsResponse{Agents: agents} },
		Columns: []command.Column[*apiv1.Agent]{
			{Head: "ID", Value: func(a *apiv1.Agent) any { return a.GetId() }},
			{Head: "STATE", Rank: 1, Shortest: 20, Value: func(a *apiv1.Agent) any { return show.AgentState(a) }},
			{Head: "POOL", Rank: 2, Shortest: 8, Value: func(a *apiv1.Agent) any { return strings.Join(a.GetResourcePools(), ",") }},
			{Head: "SLOTS", Rank: 1, Value: func(a *apiv1.Agent) any { return busyOf(a) }},
			{Head: "DEVICE", Rank: 4, Shortest: 12, Value: func(a *apiv1.Agent) any { return nameDevices(a) }},
			{Head: "AGE", Rank: 3, Value: func(a *apiv1.Agent) any { return show.When(a.GetRegisteredTime()) }},
			{Head: "ADDRESS", Rank: 5, Shortest: 15, Value: func(a *apiv1.Agent) any { return strings.Join(a.GetAddresses(), ",") }},
			{Head: "VERSION", Rank: 6, Value: func(a *apiv1.Agent) any { return cmp.Or(a.GetDetDeployVersion(), a.GetVersion()) }},
		},
		Explain: explain,
		None:    "No agents are connected.",
	}
}

// fetchAgents returns the agents of the pool by ID.
func fetchAgents(ctx context.Context, o *listOptions, master *client.Client) ([]*apiv1.Agent, error) {
	agents, err := master.Agents(ctx)
	if err != nil {
		return nil, err
	}
	agents = slices.DeleteFunc(agents, func(a *apiv1.Agent) bool { return o.Pool != "" && !slices.Contains(a.GetResourcePools(), o.Pool) })
	if len(agents) == 0 {
		return nil, command.CheckPools(ctx, master, o.Pool)
	}
	slices.SortFunc(agents, func(x, y *apiv1.Agent) int { return cmp.Compare(x.GetId(), y.GetId()) })
	return agents, nil
}

func busyOf(a *apiv1.Agent) string {
	used, all := show.CountBusy(a)
	return fmt.Sprintf("%d/%d", used, all)
}

// explain prints the reason for each agent that cannot start containers or is restricted.
func explain(o *listOptions, agents []*apiv1.Agent) {
	for _, a := range agents {
		for _, line := range show.Restrictions(a) {
			o.Tell("Agent %s: %s", a.GetId(), line)
		}
		if s := a.GetSick(); s != nil {
			o.Tell("Agent %s has been unable to start containers since %s: %s", a.GetId(), show.Time(s.GetSince()), s.GetReason())
		}
	}
}

func revokedList() command.List[*listOptions, *apiv1.RevokedAgent] {
	return command.List[*listOptions, *apiv1.RevokedAgent]{
		Fetch: func(ctx context.Context, _ *listOptions, master *client.Client) ([]*apiv1.RevokedAgent, error) {
			return master.RevokedAgents(ctx)
		},
		Reply: func(list []*apiv1.RevokedAgent) any { return &apiv1.GetRevokedAgentsResponse{Agents: list} },
		Columns: []command.Column[*apiv1.RevokedAgent]{
			{Head: "ID", Value: func(a *apiv1.RevokedAgent) any { return a.GetId() }},
			{Head: "REVOKED", Rank: 1, Value: func(a *apiv1.RevokedAgent) any { return show.When(a.GetRevokedAt()) }},
			{Head: "BY", Rank: 2, Value: func(a *apiv1.RevokedAgent) any { return a.GetRevokedBy() }},
		},
		None: "No agents are revoked.",
	}
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
