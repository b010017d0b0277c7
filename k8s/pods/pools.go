package pods

import (
	"github.com/det-deploy/det-deploy/k8s/pods/nodes"

	"cmp"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// Pools implements rm.ResourceManager.
func (r *RM) Pools() []*apiv1.ResourcePool {
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	agents := r.agents.list()
	out := make([]*apiv1.ResourcePool, 0, len(r.cfg.Pools))
	for _, p := range r.cfg.Pools {
		out = append(out, r.queue.describePool(p, agents))
	}
	slices.SortFunc(out, func(a, b *apiv1.ResourcePool) int { return cmp.Compare(a.GetName(), b.GetName()) })
	return out
}

func (q *queue) describePool(p Pool, agents []*apiv1.Agent) *apiv1.ResourcePool {
	most := int32(p.Template.MaxSlotsPerPod) //nolint:gosec // a configured number of devices
	out := &apiv1.ResourcePool{
		Name: p.Name, Description: p.Description, Type: apiv1.ResourcePoolType_RESOURCE_POOL_TYPE_K8S,
		DefaultComputePool: p.Name == q.cfg.DefaultCompute, DefaultAuxPool: p.Name == q.cfg.DefaultAux,
		SchedulerType: apiv1.SchedulerType_SCHEDULER_TYPE_KUBERNETES, SchedulerFittingPolicy: apiv1.FittingPolicy_FITTING_POLICY_KUBERNETES,
		SlotType: nodes.DeviceType(q.cfg.slots().SlotType), SlotsPerAgent: &most,
		ClusterName: q.cfg.ClusterName, ResourceManagerMetadata: q.cfg.Metadata,
		Location: "kubernetes", ImageId: "N/A", InstanceType: "kubernetes",
		Details: &apiv1.ResourcePoolDetail{PriorityScheduler: &apiv1.ResourcePoolPrioritySchedulerDetail{
			Preemption: q.cfg.Gang.Preemption, DefaultPriority: defaultPriority,
		}},
		Stats: &apiv1.QueueStats{}, TaskPolicy: p.Policy,
	}
	for _, a := range agents {
		if slices.Contains(a.GetResourcePools(), p.Name) {
			countAgent(out, a)
		}
	}
	for _, a := range q.state.allocations {
		switch {
		case a.pool != p.Name || a.phase == Over:
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

// countAgent adds a node to a pool's numbers. Slots that are switched off are
// neither available nor used. A node of several pools counts in each.
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

// Queue implements rm.ResourceManager: those that run first, then those that wait,
// each in the order in which they are served.
func (r *RM) Queue(name string) []*apiv1.Job {
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	var out []*apiv1.Job
	for _, p := range r.cfg.Pools {
		if name == "" || name == p.Name {
			out = append(out, r.queue.queueOf(p)...)
		}
	}
	return out
}

func (q *queue) queueOf(p Pool) []*apiv1.Job {
	var jobs []*job
	for _, j := range q.state.jobs {
		if len(j.allocations) > 0 && j.pool() == p.Name {
			jobs = append(jobs, j)
		}
	}
	slices.SortFunc(jobs, func(a, b *job) int {
		return cmp.Or(
			-compareBool(a.runs(), b.runs()), -cmp.Compare(a.priority(), b.priority()),
			a.position().Compare(b.position()), cmp.Compare(a.id, b.id),
		)
	})
	out := make([]*apiv1.Job, 0, len(jobs))
	ahead := int32(0)
	for _, j := range jobs {
		shown := j.api(p.Name, ahead)
		if !j.runs() {
			ahead++
		}
		out = append(out, shown)
	}
	return out
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

// runs reports whether any of the job's allocations does.
func (j *job) runs() bool {
	for _, a := range j.allocations {
		if !a.isWaiting() {
			return true
		}
	}
	return false
}

func (j *job) api(pool string, ahead int32) *apiv1.Job {
	priority, weight := int32(j.priority()), 1.0 //nolint:gosec // 1 to 99
	out := &apiv1.Job{
		JobId: string(j.id), EntityId: string(j.id), ResourcePool: pool, Priority: &priority, Weight: &weight,
		Summary: &apiv1.JobSummary{State: apiv1.Job_STATE_QUEUED, JobsAhead: ahead},
	}
	if j.runs() {
		out.Summary.State, out.Summary.JobsAhead = apiv1.Job_STATE_SCHEDULED, 0
	}
	var first time.Time
	for _, a := range j.allocations {
		out.Name, out.Username, out.UserId, out.Type, out.EntityId = a.Name, a.Username, a.UserID, a.JobType, string(a.Task)
		out.IsPreemptible = out.IsPreemptible || a.Preemptible
		out.RequestedSlots += int32(a.Slots) //nolint:gosec // slots of one pool
		if !a.isWaiting() {
			out.AllocatedSlots += int32(a.Slots) //nolint:gosec // slots of one pool
		}
		if first.IsZero() || a.Submitted.Before(first) {
			first = a.Submitted
		}
	}
	out.SubmissionTime = timestamppb.New(first)
	return out
}
