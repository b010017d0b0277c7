package pods

import (
	"cmp"
	"slices"

	"github.com/det-deploy/det-deploy/k8s/gang"
	"github.com/det-deploy/det-deploy/k8s/pods/nodes"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/queue"
	"github.com/det-deploy/det-deploy/master/rm"
)

// Pools implements rm.ResourceManager.
func (r *RM) Pools() []*apiv1.ResourcePool {
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	agents := r.agents.listAgents()
	out := make([]*apiv1.ResourcePool, 0, len(r.cfg.Pools))
	for _, p := range r.cfg.Pools {
		out = append(out, r.describePool(p, agents))
	}
	slices.SortFunc(out, func(a, b *apiv1.ResourcePool) int { return cmp.Compare(a.GetName(), b.GetName()) })
	return out
}

// PoolSettings implements rm.ResourceManager. The configured resource pools never change, so it
// takes no lock.
func (r *RM) PoolSettings() []rm.PoolSettings {
	out := make([]rm.PoolSettings, 0, len(r.cfg.Pools))
	for _, p := range r.cfg.Pools {
		out = append(out, rm.PoolSettings{
			Name: p.Name, DefaultCompute: p.Name == r.cfg.DefaultCompute, DefaultAux: p.Name == r.cfg.DefaultAux,
			DefaultPriority: gang.DefaultPriority,
		})
	}
	slices.SortFunc(out, func(a, b rm.PoolSettings) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

func (r *RM) describePool(p Pool, agents []*apiv1.Agent) *apiv1.ResourcePool {
	most := int32(p.Template.MaxSlotsPerPod) //nolint:gosec // a configured number of devices
	out := &apiv1.ResourcePool{
		Name: p.Name, Description: p.Description, Type: apiv1.ResourcePoolType_RESOURCE_POOL_TYPE_K8S,
		DefaultComputePool: p.Name == r.cfg.DefaultCompute, DefaultAuxPool: p.Name == r.cfg.DefaultAux,
		SchedulerType: apiv1.SchedulerType_SCHEDULER_TYPE_KUBERNETES, SchedulerFittingPolicy: apiv1.FittingPolicy_FITTING_POLICY_KUBERNETES,
		SlotType: nodes.DeviceType(r.cfg.slotTemplate().SlotType), SlotsPerAgent: &most,
		ClusterName: r.cfg.ClusterName, ResourceManagerMetadata: r.cfg.Metadata,
		Location: "kubernetes", ImageId: "N/A", InstanceType: "kubernetes",
		Details: &apiv1.ResourcePoolDetail{PriorityScheduler: &apiv1.ResourcePoolPrioritySchedulerDetail{
			Preemption: r.cfg.Gang.Preemption, DefaultPriority: gang.DefaultPriority,
		}},
		Stats: &apiv1.QueueStats{}, TaskPolicy: p.Policy, SlotPrice: p.Price,
	}
	for _, a := range agents {
		if slices.Contains(a.GetResourcePools(), p.Name) {
			countAgent(out, a)
		}
	}
	for _, a := range r.state.allocations {
		switch {
		case a.Pool != p.Name || a.phase == Over:
		case a.isWaiting():
			out.Stats.QueuedCount++
		default:
			out.Stats.ScheduledCount++
			if a.Slots == 0 {
				out.AuxContainersRunning++
			}
		}
	}
	return out
}

// countAgent adds a node to the totals of a resource pool. Disabled slots are neither available nor
// used. A node of several resource pools counts in each.
func countAgent(out *apiv1.ResourcePool, a *apiv1.Agent) {
	out.NumAgents++
	for _, s := range a.GetSlots() {
		if s.GetContainer() != nil {
			out.SlotsUsed++
		}
		if s.GetEnabled() || s.GetContainer() != nil {
			out.SlotsAvailable++
		}
	}
}

// Queue implements rm.ResourceManager: running jobs first, then waiting ones, each in the order of
// service.
func (r *RM) Queue(part rm.QueuePart) []*apiv1.Job {
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	var lines []queue.Line
	for _, p := range r.cfg.Pools {
		if part.Pool == "" || part.Pool == p.Name {
			lines = append(lines, r.state.listJobs(p.Name)...)
		}
	}
	if part.Job != "" {
		lines = slices.DeleteFunc(lines, func(l queue.Line) bool { return l.Entries[0].Job != part.Job })
		part = rm.QueuePart{}
	}
	var out []*apiv1.Job
	for _, l := range rm.CutQueue(part, lines, queue.Line.State) {
		job := l.API()
		job.Weight = new(1.0)
		out = append(out, job)
	}
	return out
}

// listJobs returns the queue of one resource pool. Kubernetes' scheduler places any pod that fits,
// so a running job has no job ahead of it, and its weight has no effect.
func (s *state) listJobs(pool string) []queue.Line {
	lines := s.queue.List(pool)
	slices.SortStableFunc(lines, func(a, b queue.Line) int { return -compareBool(a.Running, b.Running) })
	ahead := 0
	for i := range lines {
		l := &lines[i]
		l.Ahead, l.Backfilled = ahead, false
		if l.Running {
			l.Ahead = 0
		} else {
			ahead++
		}
	}
	return lines
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}
