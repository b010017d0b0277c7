package pool

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/show"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

func newList(s *term.Streams) *cobra.Command {
	return command.NewList(s, &command.Remote{}, command.List[*command.Remote, *apiv1.ResourcePool]{
		Fetch: func(ctx context.Context, _ *command.Remote, master *client.Client) ([]*apiv1.ResourcePool, error) {
			return master.Pools(ctx)
		},
		Reply:   func(pools []*apiv1.ResourcePool) any { return &apiv1.GetResourcePoolsResponse{ResourcePools: pools} },
		Columns: columns(),
	}, &cobra.Command{
		Use: "list", Short: "List resource pools with their capacity and queues", Example: "  det-deploy pool list",
	})
}

func columns() []command.Column[*apiv1.ResourcePool] {
	return []command.Column[*apiv1.ResourcePool]{
		{Head: "NAME", Value: func(x *apiv1.ResourcePool) any { return x.GetName() }},
		{Head: "TYPE", Rank: 6, Value: func(x *apiv1.ResourcePool) any { return show.Enum(x.GetType(), "RESOURCE_POOL_TYPE_") }},
		{Head: ">AGENTS", Rank: 2, Value: func(x *apiv1.ResourcePool) any { return x.GetNumAgents() }},
		{Head: "SLOTS", Rank: 1, Value: func(x *apiv1.ResourcePool) any { return fmt.Sprintf("%d/%d", x.GetSlotsUsed(), x.GetSlotsAvailable()) }},
		{Head: "DEVICE", Rank: 3, Value: func(x *apiv1.ResourcePool) any { return show.Enum(x.GetSlotType(), "TYPE_") }},
		{Head: "AUXILIARY", Rank: 7, Value: func(x *apiv1.ResourcePool) any {
			return fmt.Sprintf("%d/%d", x.GetAuxContainersRunning(), x.GetAuxContainerCapacity())
		}},
		{Head: ">RUNNING", Rank: 2, Value: func(x *apiv1.ResourcePool) any { return x.GetStats().GetScheduledCount() }},
		{Head: ">QUEUED", Rank: 2, Value: func(x *apiv1.ResourcePool) any { return x.GetStats().GetQueuedCount() }},
		{Head: "DEFAULT FOR", Rank: 5, Shortest: 12, Value: func(x *apiv1.ResourcePool) any { return describeDefaults(x) }},
		{Head: "NOTE", Rank: 4, Shortest: 16, Value: func(x *apiv1.ResourcePool) any { return note(x.GetMachines()) }},
	}
}

// note summarizes machines that are starting or cannot be launched.
func note(m *apiv1.PoolMachines) string {
	var out []string
	if n := m.GetLaunching() + m.GetStarting(); n > 0 {
		out = append(out, fmt.Sprintf("%d starting", n))
	}
	for _, r := range m.GetRefusals() {
		out = append(out, "refused: "+r.GetKind())
	}
	if len(m.GetProblems()) > 0 {
		out = append(out, "see `pool describe`")
	}
	return strings.Join(out, ", ")
}

func newHistory(s *term.Streams) *cobra.Command {
	return command.NewList(s, &command.Remote{Names: client.Pools}, command.List[*command.Remote, *apiv1.Machine]{
		Fetch: func(ctx context.Context, o *command.Remote, master *client.Client) ([]*apiv1.Machine, error) {
			return master.PoolMachines(ctx, o.Args[0])
		},
		Reply: func(machines []*apiv1.Machine) any { return &apiv1.GetMachinesResponse{Machines: machines} },
		Columns: []command.Column[*apiv1.Machine]{
			{Head: "ID", Value: func(x *apiv1.Machine) any { return x.GetId() }},
			{Head: "STATE", Rank: 1, Value: func(x *apiv1.Machine) any { return x.GetState() }},
			{Head: "TYPE", Rank: 3, Value: func(x *apiv1.Machine) any { return x.GetInstanceType() }},
			{Head: "ZONE", Rank: 6, Value: func(x *apiv1.Machine) any { return x.GetZone() }},
			{Head: "PRICE", Rank: 7, Shortest: 12, Value: func(x *apiv1.Machine) any { return x.GetPrice() }},
			{Head: "AGE", Rank: 2, Value: func(x *apiv1.Machine) any { return show.When(x.GetLaunchTime()) }},
			{Head: "JOINED", Rank: 5, Value: func(x *apiv1.Machine) any { return show.When(x.GetJoinTime()) }},
			{Head: "ENDED", Rank: 4, Value: func(x *apiv1.Machine) any { return show.When(x.GetEndTime()) }},
			{Head: "REASON", Rank: 4, Shortest: 20, Value: func(x *apiv1.Machine) any { return x.GetReason() }},
		},
		None: "No machines were launched for this pool.",
	}, &cobra.Command{
		Use: "history POOL", Short: "List the machines launched for a pool, with the reasons of their end",
		Example: "  det-deploy pool history gpu\n  det-deploy pool history gpu --output json",
	})
}
