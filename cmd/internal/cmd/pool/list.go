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
		Reply: func(pools []*apiv1.ResourcePool) any { return &apiv1.GetResourcePoolsResponse{ResourcePools: pools} },
		Heads: []string{"POOL", "TYPE", ">AGENTS", "SLOTS", "DEVICE", "AUXILIARY", ">RUNNING", ">WAITING", "DEFAULT FOR", "NOTE"},
		Row:   formatPool,
	}, &cobra.Command{
		Use: "list", Short: "List resource pools with their capacity and queues", Example: "  det-deploy pool list",
	})
}

func formatPool(p *apiv1.ResourcePool) []any {
	return []any{
		p.GetName(), show.Enum(p.GetType(), "RESOURCE_POOL_TYPE_"), p.GetNumAgents(),
		fmt.Sprintf("%d/%d", p.GetSlotsUsed(), p.GetSlotsAvailable()), show.Enum(p.GetSlotType(), "TYPE_"),
		fmt.Sprintf("%d/%d", p.GetAuxContainersRunning(), p.GetAuxContainerCapacity()),
		p.GetStats().GetScheduledCount(), p.GetStats().GetQueuedCount(), describeDefaults(p), note(p.GetMachines()),
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
		Heads: []string{"MACHINE", "STATE", "TYPE", "ZONE", "PRICE", "START", "JOINED", "END", "REASON"},
		Row: func(m *apiv1.Machine) []any {
			return []any{
				m.GetId(), m.GetState(), m.GetInstanceType(), m.GetZone(), m.GetPrice(),
				show.Time(m.GetLaunchTime()), show.Time(m.GetJoinTime()), show.Time(m.GetEndTime()), m.GetReason(),
			}
		},
	}, &cobra.Command{
		Use: "history POOL", Short: "List the machines launched for a pool, with the reasons of their end",
		Example: "  det-deploy pool history gpu\n  det-deploy pool history gpu --output json",
	})
}
