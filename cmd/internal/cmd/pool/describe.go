package pool

import (
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/show"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

func newDescribe(s *term.Streams) *cobra.Command {
	return command.NewDescribe(s, command.Description[*apiv1.ResourcePool]{Fetch: command.FindPool, Pairs: pairs, Names: client.Pools}, &cobra.Command{
		Use: "describe POOL", Short: "Show a resource pool", Example: "  det-deploy pool describe gpu",
	})
}

func pairs(p *apiv1.ResourcePool) [][2]string {
	out := [][2]string{
		{"Pool", p.GetName()},
		{"Description", p.GetDescription()},
		{"Type", show.Enum(p.GetType(), "RESOURCE_POOL_TYPE_")},
		{"Default for", describeDefaults(p)},
		{"Agents", agents(p)},
		{"Slots", fmt.Sprintf("%d in use of %d", p.GetSlotsUsed(), p.GetSlotsAvailable())},
		{"Auxiliary", fmt.Sprintf("%d running, room for %d", p.GetAuxContainersRunning(), p.GetAuxContainerCapacity())},
		{"Device", show.Enum(p.GetSlotType(), "TYPE_")},
		{"Tasks", fmt.Sprintf("%d running, %d waiting", p.GetStats().GetScheduledCount(), p.GetStats().GetQueuedCount())},
		{"Scheduler", show.Enum(p.GetSchedulerType(), "SCHEDULER_TYPE_") + ", " + show.Enum(p.GetSchedulerFittingPolicy(), "FITTING_POLICY_") + " fit"},
		{"Machine", known(p.GetInstanceType())},
		{"Place", p.GetLocation()},
		{"Image", known(p.GetImageId())},
		{"Slot price", show.SlotPrice(p.GetSlotPrice())},
	}
	if d := p.GetDetails().GetPriorityScheduler(); d != nil {
		out = append(out, [2]string{"Priority", fmt.Sprintf("%d by default", d.GetDefaultPriority())},
			[2]string{"Preemption", show.YesNo(d.GetPreemption())})
	}
	out = append(out, describePolicy(p.GetTaskPolicy())...)
	out = append(out, machines(p.GetMachines())...)
	if idle := p.GetMaxIdleAgentPeriod(); idle > 0 && p.GetMaxAgents() > 0 {
		out = append(out, [2]string{"Idle agents", "removed after " + (time.Duration(idle) * time.Second).String()})
	}
	return out
}

// machines describes the machines of a pool, and the refusals and problems of launching them.
func machines(m *apiv1.PoolMachines) [][2]string {
	if m == nil {
		return nil
	}
	counts := fmt.Sprintf("%d launching, %d starting, %d joined (%d idle)", m.GetLaunching(), m.GetStarting(), m.GetJoined(), m.GetIdle())
	for _, more := range []struct {
		n    int32
		what string
	}{{m.GetLost(), "lost"}, {m.GetDraining(), "draining"}, {m.GetTerminating(), "terminating"}} {
		if more.n > 0 {
			counts += fmt.Sprintf(", %d %s", more.n, more.what)
		}
	}
	out := [][2]string{{"Machines", counts}}
	if m.GetDemand() > 0 {
		out = append(out, [2]string{"Demand", fmt.Sprintf("%d more for waiting tasks", m.GetDemand())})
	}
	for _, r := range m.GetRefusals() {
		text := r.GetReason()
		if left := time.Until(r.GetNextTry().AsTime()); left > 0 {
			text += "; next try in " + left.Round(time.Second).String()
		}
		out = append(out, [2]string{"Refused", text})
	}
	for _, text := range m.GetProblems() {
		out = append(out, [2]string{"Problem", text})
	}
	return out
}

// agents returns the number of agents and, in a pool that launches machines, its limits.
func agents(p *apiv1.ResourcePool) string {
	s := strconv.Itoa(int(p.GetNumAgents()))
	if p.GetMaxAgents() > 0 {
		s += fmt.Sprintf(", min %d, max %d", p.GetMinAgents(), p.GetMaxAgents())
	}
	return s
}

// known returns what a master tells of the machines of a pool, or "" if that does not apply to them.
func known(text string) string {
	if text == "N/A" {
		return ""
	}
	return text
}
