package agentrm

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"google.golang.org/protobuf/types/known/timestamppb"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/pool"
	"github.com/det-deploy/det-deploy/master/rm"
)

func (s *Sickness) toAPI() *apiv1.AgentSickness {
	if s == nil {
		return nil
	}
	return &apiv1.AgentSickness{Lack: s.Lack, Reason: s.Reason, Since: timestamppb.New(s.Since)}
}

// mostNamed is the maximum number of agents of one kind that a task's reason names.
const mostNamed = 3

// describeSick returns, for a waiting task, a text that names the sick agents of its pool, or "".
func (s *state) describeSick(name string) string {
	var sick []*agent
	for _, a := range s.sick {
		if a.pool == name && a.presence == Connected {
			sick = append(sick, a)
		}
	}
	if len(sick) == 0 {
		return ""
	}
	slices.SortFunc(sick, func(x, y *agent) int { return cmp.Compare(x.id, y.id) })
	var names []string
	for _, a := range sick[:min(mostNamed, len(sick))] {
		names = append(names, fmt.Sprintf("%s (%s: %s)", a.id, a.sick.Lack, a.sick.Reason))
	}
	return "agents that cannot start containers now: " + nameFirst(names, len(sick))
}

// describeAllocation implements rm.ResourceManager.
func (s *state) describeAllocation(id rm.AllocationID) (rm.Allocation, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.allocations[id]
	if a == nil {
		return rm.Allocation{}, false
	}
	out := a.describeForOwner()
	if out.Waiting != "" {
		if refusing := s.describeRefusing(a); refusing != "" {
			out.Waiting += "; " + refusing
		}
		if sick := s.describeSick(a.Pool); sick != "" {
			out.Waiting += "; " + sick
		}
		if more := s.cfg.Waits(a.Pool, id); more != "" {
			out.Waiting += "; " + more
		}
	}
	return out, true
}

// priorityOf implements rm.ResourceManager.
func (s *state) priorityOf(id rm.AllocationID) (int, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.allocations[id]
	if a == nil {
		return 0, false
	}
	return a.Priority, true
}

// listAgents implements rm.Machines.
func (s *state) listAgents() []*apiv1.Agent {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]*apiv1.Agent, 0, len(s.agents))
	for _, a := range s.agents {
		out = append(out, a.toAPI())
	}
	slices.SortFunc(out, func(a, b *apiv1.Agent) int { return cmp.Compare(a.GetId(), b.GetId()) })
	return out
}

// slotKey pads a slot's id, because clients print slots in the order of keys.
func slotKey(d *apiv1.Device) string { return fmt.Sprintf("%03d", d.GetId()) }

// isEnabled reports whether the API shows the agent as enabled.
func (a *agent) isEnabled() bool {
	return a.presence == Connected && a.state == rm.Enable && a.notice == nil && a.sick == nil
}

// toAPI returns the agent as an API message. A lost or sick agent, which keeps its running containers
// and gets no new ones, appears disabled and draining as in Determined 0.38.1.
func (a *agent) toAPI() *apiv1.Agent {
	out := &apiv1.Agent{
		Id: string(a.id), RegisteredTime: timestamppb.New(a.registered), Version: apiv1.Release, DetDeployVersion: a.version,
		Enabled: a.isEnabled(), Draining: a.presence == Lost || a.takesNothing(), Lost: a.presence == Lost,
		ResourcePools: []string{a.pool}, Sick: a.sick.toAPI(),
		NotIsolated: a.restrictions.notIsolated, TrustsUsers: a.restrictions.trustsUsers, NoFixedPaths: a.restrictions.noFixedPaths,
		Slots:      make(map[string]*apiv1.Slot, len(a.devices)),
		Containers: make(map[string]*apiv1.Container, len(a.containers)),
		SlotStats: &apiv1.SlotStats{
			TypeStats: make(map[string]*apiv1.DeviceStats), BrandStats: make(map[string]*apiv1.DeviceStats),
		},
	}
	if a.address != "" {
		out.Addresses = []string{a.address}
	}
	occupied := make(map[int32]*apiv1.Container)
	for id, c := range a.containers {
		shown := c.toAPI()
		out.Containers[string(id)] = shown
		for _, d := range c.devices {
			occupied[d.GetId()] = shown
		}
	}
	for _, d := range a.devices {
		state := a.slotSwitch(int(d.GetId()))
		s := &apiv1.Slot{
			Id: strconv.Itoa(int(d.GetId())), Device: d, Container: occupied[d.GetId()],
			Enabled:  state == rm.Enable && out.GetEnabled(),
			Draining: state == rm.Drain || out.GetDraining(),
		}
		rm.AddSlot(out, slotKey(d), s)
	}
	return out
}

// listPools implements rm.ResourceManager. The launcher of machines adds the details of a cloud.
func (s *state) listPools() []*apiv1.ResourcePool {
	s.mu.Lock()
	defer s.mu.Unlock()
	stats := s.countAllocations()
	out := make([]*apiv1.ResourcePool, 0, len(s.cfg.Pools))
	for _, p := range s.cfg.Pools {
		out = append(out, s.describePool(p, stats[p.Name]))
	}
	slices.SortFunc(out, func(a, b *apiv1.ResourcePool) int { return cmp.Compare(a.GetName(), b.GetName()) })
	return out
}

// listPoolSettings implements rm.ResourceManager. Configured pools are immutable and need no lock.
func (s *state) listPoolSettings() []rm.PoolSettings {
	out := make([]rm.PoolSettings, 0, len(s.cfg.Pools))
	for _, p := range s.cfg.Pools {
		out = append(out, rm.PoolSettings{
			Name: p.Name, DefaultCompute: p.Name == s.cfg.DefaultCompute, DefaultAux: p.Name == s.cfg.DefaultAux,
			DefaultPriority: p.Scheduler.DefaultPriority,
		})
	}
	slices.SortFunc(out, func(a, b rm.PoolSettings) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// countAllocations returns the numbers of allocations by pool.
func (s *state) countAllocations() map[string]*apiv1.QueueStats {
	out := make(map[string]*apiv1.QueueStats, len(s.cfg.Pools))
	for _, p := range s.cfg.Pools {
		out[p.Name] = &apiv1.QueueStats{}
	}
	for _, a := range s.allocations {
		switch n := out[a.Pool]; {
		case n == nil: // its pool is no longer configured
		case a.phase == Queued:
			n.QueuedCount++
		default:
			n.ScheduledCount++
		}
	}
	return out
}

func (s *state) describePool(p Pool, stats *apiv1.QueueStats) *apiv1.ResourcePool {
	out := &apiv1.ResourcePool{
		Name: p.Name, Description: p.Description, Type: apiv1.ResourcePoolType_RESOURCE_POOL_TYPE_STATIC,
		DefaultComputePool: p.Name == s.cfg.DefaultCompute, DefaultAuxPool: p.Name == s.cfg.DefaultAux,
		AuxContainerCapacityPerAgent: int32(p.MaxAux), //nolint:gosec // a configured limit of containers
		SchedulerType:                apiv1.SchedulerType_SCHEDULER_TYPE_PRIORITY,
		SchedulerFittingPolicy:       apiv1.FittingPolicy_FITTING_POLICY_BEST,
		ClusterName:                  s.cfg.ClusterName, ResourceManagerMetadata: p.Metadata,
		Location: "on-prem", ImageId: "N/A", InstanceType: "N/A", // as Determined 0.38.1 shows static pools
		Details: &apiv1.ResourcePoolDetail{PriorityScheduler: &apiv1.ResourcePoolPrioritySchedulerDetail{
			Preemption: p.Scheduler.Preemption, DefaultPriority: int32(p.Scheduler.DefaultPriority), //nolint:gosec // 1 to 99
		}},
		Stats: stats, TaskPolicy: p.Policy, SlotPrice: p.Price,
	}
	if p.Scheduler.Fitting == pool.Worst {
		out.SchedulerFittingPolicy = apiv1.FittingPolicy_FITTING_POLICY_WORST
	}
	for _, a := range s.agents {
		if a.pool == p.Name {
			countAgent(out, a)
		}
	}
	s.cfg.Describe(out)
	return out
}

// countAgent adds an agent to its pool's numbers. Disabled slots count as neither available nor used.
func countAgent(out *apiv1.ResourcePool, a *agent) {
	out.NumAgents++
	if a.isEnabled() {
		out.AuxContainerCapacity += out.GetAuxContainerCapacityPerAgent()
	}
	used := make(map[int32]bool)
	for _, c := range a.containers {
		if c.allocation.Slots == 0 {
			out.AuxContainersRunning++
		}
		for _, d := range c.devices {
			used[d.GetId()] = true
		}
	}
	for _, d := range a.devices {
		out.SlotType = d.GetType()
		if used[d.GetId()] {
			out.SlotsUsed++
		}
		if used[d.GetId()] || a.isEnabled() && a.slotSwitch(int(d.GetId())) == rm.Enable {
			out.SlotsAvailable++
		}
	}
	most := max(out.GetSlotsPerAgent(), int32(len(a.devices))) //nolint:gosec // limited by Limits.Slots
	out.SlotsPerAgent = &most
}

// listQueue implements rm.ResourceManager.
func (s *state) listQueue(part rm.QueuePart) []*apiv1.Job {
	s.mu.Lock()
	defer s.mu.Unlock()
	var pools []string
	for _, p := range s.cfg.Pools {
		if part.Pool == "" || part.Pool == p.Name {
			pools = append(pools, p.Name)
		}
	}
	var out []*apiv1.Job
	for _, l := range s.queue.Part(pools, part) {
		out = append(out, l.API())
	}
	return out
}
