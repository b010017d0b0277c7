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
	return command.NewRemote(s, &command.Remote{}, runList, &cobra.Command{
		Use: "list", Short: "List the resource pools, with what they have and who waits", Example: "  det-deploy pool list",
	})
}

func runList(ctx context.Context, o *command.Remote, master *client.Client) error {
	pools, err := master.Pools(ctx)
	if err != nil {
		return err
	}
	t := term.NewTable("POOL", "TYPE", ">AGENTS", "SLOTS", "DEVICE", "AUXILIARY", ">RUNNING", ">WAITING", "DEFAULT FOR", "NOTE")
	for _, p := range pools {
		t.Row(p.GetName(), show.Enum(p.GetType(), "RESOURCE_POOL_TYPE_"), p.GetNumAgents(),
			fmt.Sprintf("%d/%d", p.GetSlotsUsed(), p.GetSlotsAvailable()), show.Enum(p.GetSlotType(), "TYPE_"),
			fmt.Sprintf("%d/%d", p.GetAuxContainersRunning(), p.GetAuxContainerCapacity()),
			p.GetStats().GetScheduledCount(), p.GetStats().GetQueuedCount(), describeDefaults(p), note(p.GetMachines()))
	}
	return o.AnswerTable(&apiv1.GetResourcePoolsResponse{ResourcePools: pools}, t)
}

// note is what there is to say of machines that come or cannot come.
func note(m *apiv1.PoolMachines) string {
	var out []string
	if n := m.GetLaunching() + m.GetStarting(); n > 0 {
		out = append(out, fmt.Sprintf("%d starting", n))
	}
	for _, r := range m.GetRefusals() {
		out = append(out, "refused: "+r.GetKind())
	}
	if len(m.GetProblems()) > 0 {
		out = append(out, "see pool describe")
	}
	return strings.Join(out, ", ")
}

func newHistory(s *term.Streams) *cobra.Command {
	return command.NewRemote(s, &command.Remote{}, runHistory, &cobra.Command{
		Use: "history POOL", Short: "List the machines that were launched for a pool, and why they went",
		Example: "  det-deploy pool history gpu\n  det-deploy pool history gpu --output json",
	})
}

func runHistory(ctx context.Context, o *command.Remote, master *client.Client) error {
	machines, err := master.PoolMachines(ctx, o.Args[0])
	if err != nil {
		return err
	}
	t := term.NewTable("MACHINE", "STATE", "TYPE", "ZONE", "PRICE", "START", "JOINED", "END", "REASON")
	for _, m := range machines {
		t.Row(m.GetId(), m.GetState(), m.GetInstanceType(), m.GetZone(), m.GetPrice(),
			show.Time(m.GetLaunchTime()), show.Time(m.GetJoinTime()), show.Time(m.GetEndTime()), m.GetReason())
	}
	return o.AnswerTable(&apiv1.GetMachinesResponse{Machines: machines}, t)
}
