package pods

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"google.golang.org/protobuf/types/known/timestamppb"
	corev1 "k8s.io/api/core/v1"

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
	if r.watch.nodes.Load() == nil {
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
	known := r.watch.nodes.Load() != nil
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
		rm.AddSlot(out, fmt.Sprintf("%03d", i), s)
	}
	return out
}
