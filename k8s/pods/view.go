package pods

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"google.golang.org/protobuf/types/known/timestamppb"
	corev1 "k8s.io/api/core/v1"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/det-deploy/det-deploy/k8s/podspec"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
)

// Agents implements rm.Machines: an agent is a node on which pods of some pool may
// run. Without permission to see nodes, those are shown that pods are on.
func (r *RM) Agents() []*apiv1.Agent {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.agents()
}

// agents lists the nodes by name. RM.mu is held.
func (r *RM) agents() []*apiv1.Agent {
	if r.watch == nil {
		return nil
	}
	on := r.byNode()
	var out []*apiv1.Agent
	for _, n := range r.watch.allNodes() {
		pools := r.poolsOf(n)
		if len(pools) > 0 || len(on[rm.AgentID(n.Name)]) > 0 {
			out = append(out, r.agentOf(n, pools, on[rm.AgentID(n.Name)]))
		}
	}
	if r.watch.nodes == nil {
		for id, parts := range on {
			bare := &corev1.Node{}
			bare.Name = string(id)
			out = append(out, r.agentOf(bare, poolsIn(parts), parts))
		}
	}
	slices.SortFunc(out, func(a, b *apiv1.Agent) int { return cmp.Compare(a.GetId(), b.GetId()) })
	return out
}

// poolsIn names the pools of what runs on a node.
func poolsIn(parts []part) []string {
	var out []string
	for _, p := range parts {
		out = append(out, p.of.pool)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// part is a container with the allocation it is of.
type part struct {
	*container
	of *allocation
}

// byNode lists what runs on each node, in a fixed order.
func (r *RM) byNode() map[rm.AgentID][]part {
	out := make(map[rm.AgentID][]part)
	for _, a := range r.allocations {
		if a.phase != Running {
			continue
		}
		for _, c := range a.containers {
			if c.node != "" && !c.ended() {
				out[c.node] = append(out[c.node], part{c, a})
			}
		}
	}
	for _, parts := range out {
		slices.SortFunc(parts, func(a, b part) int {
			return cmp.Or(a.of.decided.Compare(b.of.decided), cmp.Compare(a.id, b.id))
		})
	}
	return out
}

// poolsOf names the pools whose pods may run on a node.
func (r *RM) poolsOf(n *corev1.Node) []string {
	var out []string
	for _, p := range r.cfg.Pools {
		if slices.ContainsFunc(r.places[p.Name], func(p place) bool { return p.admits(n) }) {
			out = append(out, p.Name)
		}
	}
	return out
}

// place is where pods of a pool may be.
type place struct {
	required    nodeaffinity.RequiredNodeAffinity
	tolerations []corev1.Toleration
}

// places are those of every pool: of tasks without slots, and with some.
func (c Config) places() (map[string][]place, error) {
	out := make(map[string][]place, len(c.Pools))
	for _, p := range c.Pools {
		for _, slots := range []int{0, min(1, p.Template.MaxSlotsPerPod)} {
			spec, err := podspec.Draft(rm.Request{Slots: slots}, p.Template)
			if err != nil {
				return nil, fmt.Errorf("resource pool %q: %w", p.Name, err)
			}
			out[p.Name] = append(out[p.Name], placeOf(spec))
		}
	}
	return out, nil
}

func placeOf(spec *corev1.PodSpec) place {
	return place{
		required:    nodeaffinity.NewRequiredNodeAffinity(spec.NodeSelector, spec.Affinity),
		tolerations: spec.Tolerations,
	}
}

// admits leaves out what passes: that a node is not ready, or cordoned.
func (p place) admits(n *corev1.Node) bool {
	if fits, err := p.required.Match(n); err != nil || !fits {
		return false
	}
	_, kept := corev1helpers.FindMatchingUntoleratedTaint(logr.Discard(), n.Spec.Taints, p.tolerations, func(t *corev1.Taint) bool {
		lasts := !strings.HasPrefix(t.Key, "node.kubernetes.io/")
		return lasts && t.Effect != corev1.TaintEffectPreferNoSchedule
	}, false)
	return !kept
}

// slots is how many slots a node has.
func (r *RM) slots(n *corev1.Node) int {
	t := r.cfg.slots()
	if t.SlotType == podspec.CPU {
		q := n.Status.Allocatable[corev1.ResourceCPU]
		return int(float64(q.MilliValue()) / (1000 * t.SlotCPU))
	}
	q := n.Status.Allocatable[t.SlotType.Resource()]
	return int(q.Value())
}

// slots is what a slot is, which all pools have in common.
func (c Config) slots() podspec.Template {
	if len(c.Pools) == 0 {
		return podspec.Template{}
	}
	return c.Pools[0].Template
}

func deviceType(t podspec.SlotType) apiv1.Device_Type {
	switch t {
	case podspec.ROCm:
		return apiv1.Device_TYPE_ROCM
	case podspec.CPU:
		return apiv1.Device_TYPE_CPU
	case podspec.CUDA:
	}
	return apiv1.Device_TYPE_CUDA
}

// brand is what a node says of its devices: the labels of NVIDIA's and AMD's feature
// discovery.
func brand(n *corev1.Node, t podspec.SlotType) string {
	for _, key := range []string{"nvidia.com/gpu.product", "amd.com/gpu.product-name"} {
		if v := n.Labels[key]; v != "" {
			return v
		}
	}
	return string(t)
}

// agentOf is a node as clients see it. Which device a pod has only its node knows;
// slots are filled in the order in which pods came.
func (r *RM) agentOf(n *corev1.Node, pools []string, parts []part) *apiv1.Agent {
	state := r.switches[rm.AgentID(n.Name)]
	known := r.watch.nodes != nil
	out := &apiv1.Agent{
		Id: n.Name, RegisteredTime: timestamppb.New(n.CreationTimestamp.Time), Version: n.Status.NodeInfo.KubeletVersion,
		Enabled: state == "" && !n.Spec.Unschedulable && (ready(n) || !known), Draining: state == rm.Drain || n.Spec.Unschedulable,
		ResourcePools: pools, Slots: make(map[string]*apiv1.Slot), Containers: make(map[string]*apiv1.Container),
		SlotStats: &apiv1.SlotStats{
			TypeStats: make(map[string]*apiv1.DeviceStats), BrandStats: make(map[string]*apiv1.DeviceStats),
		},
	}
	for _, a := range n.Status.Addresses {
		if a.Type == corev1.NodeInternalIP {
			out.Addresses = append(out.Addresses, a.Address)
		}
	}
	kind := r.cfg.slots().SlotType
	var holders []*apiv1.Container
	for _, p := range parts {
		shown := p.api(p.of.Allocation)
		out.Containers[string(p.id)] = shown
		for range p.devices {
			holders = append(holders, shown)
		}
	}
	for i := range max(r.slots(n), len(holders)) {
		d := &apiv1.Device{
			Id: int32(i), Brand: brand(n, kind), Type: deviceType(kind), //nolint:gosec // slots of a node
			Uuid: fmt.Sprintf("%s/%d", n.Name, i),
		}
		s := &apiv1.Slot{Id: strconv.Itoa(i), Device: d, Enabled: out.GetEnabled(), Draining: out.GetDraining()}
		if i < len(holders) {
			s.Container = holders[i]
		}
		out.Slots[fmt.Sprintf("%03d", i)] = s // padded, because clients print them in the order of keys
		count(out.GetSlotStats().GetTypeStats(), d.GetType().String(), s)
		count(out.GetSlotStats().GetBrandStats(), d.GetBrand(), s)
	}
	return out
}

func count(stats map[string]*apiv1.DeviceStats, key string, s *apiv1.Slot) {
	d := stats[key]
	if d == nil {
		d = &apiv1.DeviceStats{States: make(map[string]int32)}
		stats[key] = d
	}
	d.Total++
	if !s.GetEnabled() {
		d.Disabled++
	}
	if s.GetDraining() {
		d.Draining++
	}
	if c := s.GetContainer(); c != nil {
		d.States[c.GetState().String()]++
	}
}

// Pools implements rm.ResourceManager.
func (r *RM) Pools() []*apiv1.ResourcePool {
	r.mu.Lock()
	defer r.mu.Unlock()
	agents := r.agents()
	out := make([]*apiv1.ResourcePool, 0, len(r.cfg.Pools))
	for _, p := range r.cfg.Pools {
		out = append(out, r.describePool(p, agents))
	}
	slices.SortFunc(out, func(a, b *apiv1.ResourcePool) int { return cmp.Compare(a.GetName(), b.GetName()) })
	return out
}

func (r *RM) describePool(p Pool, agents []*apiv1.Agent) *apiv1.ResourcePool {
	most := int32(p.Template.MaxSlotsPerPod) //nolint:gosec // a configured number of devices
	out := &apiv1.ResourcePool{
		Name: p.Name, Description: p.Description, Type: apiv1.ResourcePoolType_RESOURCE_POOL_TYPE_K8S,
		DefaultComputePool: p.Name == r.cfg.DefaultCompute, DefaultAuxPool: p.Name == r.cfg.DefaultAux,
		SchedulerType: apiv1.SchedulerType_SCHEDULER_TYPE_KUBERNETES, SchedulerFittingPolicy: apiv1.FittingPolicy_FITTING_POLICY_KUBERNETES,
		SlotType: deviceType(r.cfg.slots().SlotType), SlotsPerAgent: &most,
		ClusterName: r.cfg.ClusterName, ResourceManagerMetadata: r.cfg.Metadata,
		Location: "kubernetes", ImageId: "N/A", InstanceType: "kubernetes",
		Details: &apiv1.ResourcePoolDetail{PriorityScheduler: &apiv1.ResourcePoolPrioritySchedulerDetail{
			Preemption: r.cfg.Gang.Preemption, DefaultPriority: defaultPriority,
		}},
		Stats: &apiv1.QueueStats{},
	}
	for _, a := range agents {
		if slices.Contains(a.GetResourcePools(), p.Name) {
			countAgent(out, a)
		}
	}
	for _, a := range r.allocations {
		switch {
		case a.pool != p.Name || a.phase == Over:
		case a.waits():
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
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []*apiv1.Job
	for _, p := range r.cfg.Pools {
		if name == "" || name == p.Name {
			out = append(out, r.queueOf(p)...)
		}
	}
	return out
}

func (r *RM) queueOf(p Pool) []*apiv1.Job {
	var jobs []*job
	for _, j := range r.jobs {
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
		if !a.waits() {
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
		if !a.waits() {
			out.AllocatedSlots += int32(a.Slots) //nolint:gosec // slots of one pool
		}
		if first.IsZero() || a.Submitted.Before(first) {
			first = a.Submitted
		}
	}
	out.SubmissionTime = timestamppb.New(first)
	return out
}
