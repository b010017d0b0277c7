package pools

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/timestamppb"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// mostMachines is the number of machines with a picture in a list of pools, and mostLaunches that of launches
// on the page of a pool.
const (
	mostMachines = 50
	mostLaunches = 200
)

// pool is a pool with its machines.
type pool struct {
	*apiv1.ResourcePool

	Name, Path string
	Machines   []machine
	// More is the number of machines that are left out.
	More int
	// Price is the price of a slot, or "".
	Price string
	// Launching describes the machines that the master launches, if it does.
	Launching string
	Problems  []string
	// Launches are the machines that were launched, the newest first, and Earlier is the number of those that
	// are left out.
	Launches []launch
	Earlier  int
	// IsPast reports that the pool was removed from the configuration.
	IsPast bool
}

// launch is a machine that was launched.
type launch struct {
	*apiv1.Machine

	// Path is the page of a machine that is in the cluster.
	Path string
}

func newList(pools []*apiv1.ResourcePool, agents []*apiv1.Agent) []pool {
	var out []pool
	for _, p := range pools {
		one := newPool(p.GetName(), p, agents, nil)
		if n := len(one.Machines); n > mostMachines {
			one.Machines, one.More = one.Machines[:mostMachines], n-mostMachines
		}
		out = append(out, one)
	}
	slices.SortStableFunc(out, func(a, b pool) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func newPool(name string, p *apiv1.ResourcePool, agents []*apiv1.Agent, launches []*apiv1.Machine) pool {
	out := pool{
		ResourcePool: p, Name: name, Path: poolPath(name), Machines: machinesOf(name, agents), Price: price(p.GetSlotPrice()), IsPast: p == nil,
	}
	if m := p.GetMachines(); m != nil {
		out.Launching, out.Problems = launching(m), problems(m)
	}
	here := map[string]bool{}
	for _, m := range out.Machines {
		here[m.ID] = true
	}
	if n := len(launches); n > mostLaunches {
		launches, out.Earlier = launches[:mostLaunches], n-mostLaunches
	}
	for _, m := range launches {
		l := launch{Machine: m}
		if here[m.GetId()] {
			l.Path = agentPath(m.GetId())
		}
		out.Launches = append(out.Launches, l)
	}
	return out
}

// price returns the price of a slot.
func price(p *apiv1.SlotPrice) string {
	if p == nil {
		return ""
	}
	text := fmt.Sprintf("%g %s per hour", p.GetPerHour(), p.GetCurrency())
	if p.SpotPerHour != nil {
		text += fmt.Sprintf(", %g on spot machines", p.GetSpotPerHour())
	}
	return text
}

// launching returns the numbers of machines by their state.
func launching(m *apiv1.PoolMachines) string {
	var parts []string
	for _, p := range []struct {
		n    int32
		what string
	}{
		{m.GetDemand(), "needed"},
		{m.GetLaunching(), "launching"},
		{m.GetStarting(), "starting"},
		{m.GetJoined(), "joined"},
		{m.GetIdle(), "idle"},
		{m.GetLost(), "lost"},
		{m.GetDraining(), "draining"},
		{m.GetTerminating(), "terminating"},
	} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.what))
		}
	}
	if parts == nil {
		return "none"
	}
	return strings.Join(parts, ", ")
}

func problems(m *apiv1.PoolMachines) []string {
	out := slices.Clone(m.GetProblems())
	for _, r := range m.GetRefusals() {
		out = append(out, fmt.Sprintf("No %s %s in %s: %s", r.GetPrice(), r.GetInstanceType(), r.GetZone(), r.GetReason()))
	}
	return out
}

// SlotsTotal returns the number of slots of the machines of a pool.
func (p pool) SlotsTotal() int32 { return p.GetSlotsAvailable() }

// machineView is the data of machine.html.
type machineView struct {
	*apiv1.Agent

	machine

	Pools   string
	Devices []device
	// Tasks are the IDs of the tasks of its containers.
	Tasks []string
	Notes []string
	// MaySwitch reports that the visitor may drain, disable and enable it.
	MaySwitch bool
}

// device is a slot of a machine.
type device struct {
	ID, Name, State string
	// Task is the ID of the task that holds it.
	Task string
	// Off reports that it was switched off by itself.
	Off bool
}

func newMachinePage(a *apiv1.Agent, admin bool) machineView {
	v := machineView{Agent: a, machine: newMachine(a), Pools: strings.Join(a.GetResourcePools(), ", "), MaySwitch: admin, Notes: notes(a)}
	for _, key := range slices.Sorted(maps.Keys(a.GetSlots())) {
		s := a.GetSlots()[key]
		d := device{ID: s.GetId(), Name: s.GetDevice().GetBrand(), State: slotState(a, s), Task: taskOf(s.GetContainer().GetParent())}
		d.Off = a.GetEnabled() && !a.GetDraining() && (!s.GetEnabled() || s.GetDraining())
		v.Devices = append(v.Devices, d)
	}
	for _, c := range a.GetContainers() {
		if id := taskOf(c.GetParent()); !slices.Contains(v.Tasks, id) {
			v.Tasks = append(v.Tasks, id)
		}
	}
	slices.Sort(v.Tasks)
	return v
}

// notes returns the restrictions of an agent.
func notes(a *apiv1.Agent) []string {
	var out []string
	if a.GetSick() != nil {
		out = append(out, "It cannot start containers: "+a.GetSick().GetReason())
	}
	if why := a.GetNotIsolated(); why != "" && !a.GetTrustsUsers() {
		out = append(out, strings.ToUpper(apiv1.OnlyAdministrators(why)[:1])+apiv1.OnlyAdministrators(why)[1:])
	}
	if why := a.GetNoFixedPaths(); why != "" {
		out = append(out, "It takes no trials: "+why)
	}
	return out
}

// Joined returns when the agent joined.
func (v machineView) Joined() *timestamppb.Timestamp { return v.GetRegisteredTime() }
