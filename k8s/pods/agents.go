package pods

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"
	corev1 "k8s.io/api/core/v1"

	"github.com/det-deploy/det-deploy/k8s/pods/nodes"
	"github.com/det-deploy/det-deploy/k8s/pods/observe"
	"github.com/det-deploy/det-deploy/k8s/pods/records"
	"github.com/det-deploy/det-deploy/k8s/podspec"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
)

// Agents implements rm.Machines: an agent is a node on which pods of a resource pool may run.
// Without permission to list nodes, it returns the nodes that have pods.
func (r *RM) Agents() []*apiv1.Agent {
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	return r.agents.listAgents()
}

// agents presents nodes as agents, and enables and disables them.
type agents struct {
	cfg     Config
	state   *state
	records records.Store
	// placements are the placement constraints of each resource pool, for pods without and with
	// slots.
	placements map[string][]nodes.Placement
}

// listAgents returns the nodes by name. state.mu is held.
func (g *agents) listAgents() []*apiv1.Agent {
	if g.state.watch == nil {
		return nil
	}
	on := g.byNode()
	var out []*apiv1.Agent
	for _, n := range g.state.watch.Nodes() {
		pools := g.poolsOf(n)
		if len(pools) > 0 || len(on[rm.AgentID(n.Name)]) > 0 {
			out = append(out, g.agentOf(n, pools, on[rm.AgentID(n.Name)]))
		}
	}
	if !g.state.watch.NodesKnown() {
		for id, parts := range on {
			bare := &corev1.Node{}
			bare.Name = string(id)
			out = append(out, g.agentOf(bare, poolsIn(parts), parts))
		}
	}
	slices.SortFunc(out, func(a, b *apiv1.Agent) int { return cmp.Compare(a.GetId(), b.GetId()) })
	return out
}

// poolsIn returns the resource pools of the containers on a node.
func poolsIn(parts []placedContainer) []string {
	var out []string
	for _, p := range parts {
		out = append(out, p.of.Pool)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// placedContainer is a container with its allocation.
type placedContainer struct {
	*container
	of *allocation
}

// byNode returns the running containers of each node, in a fixed order.
func (g *agents) byNode() map[rm.AgentID][]placedContainer {
	out := make(map[rm.AgentID][]placedContainer)
	for _, a := range g.state.allocations {
		if a.phase != Running {
			continue
		}
		for _, c := range a.containers {
			if c.node != "" && !c.hasEnded() {
				out[c.node] = append(out[c.node], placedContainer{c, a})
			}
		}
	}
	for _, parts := range out {
		slices.SortFunc(parts, func(a, b placedContainer) int {
			return cmp.Or(a.of.decided.Compare(b.of.decided), cmp.Compare(a.id, b.id))
		})
	}
	return out
}

// slotTemplate returns a template with the slot type, which all resource pools share.
func (c Config) slotTemplate() podspec.Template {
	if len(c.Pools) == 0 {
		return podspec.Template{}
	}
	return c.Pools[0].Template
}

// agentOf presents a node as an agent. Only the node knows the devices of a pod, so slots are
// assigned in the order in which pods were placed.
func (g *agents) agentOf(n *corev1.Node, pools []string, parts []placedContainer) *apiv1.Agent {
	state := g.state.switches[rm.AgentID(n.Name)]
	known := g.state.watch.NodesKnown()
	out := &apiv1.Agent{
		Id: n.Name, RegisteredTime: timestamppb.New(n.CreationTimestamp.Time), Version: n.Status.NodeInfo.KubeletVersion,
		Enabled: state == "" && !n.Spec.Unschedulable && (observe.NodeReady(n) || !known), Draining: state == rm.Drain || n.Spec.Unschedulable,
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
	kind := g.cfg.slotTemplate().SlotType
	var holders []*apiv1.Container
	for _, p := range parts {
		shown := p.asAPI(p.of.Allocation)
		out.Containers[string(p.id)] = shown
		for range p.devices {
			holders = append(holders, shown)
		}
	}
	for i := range max(nodes.CountSlots(n, g.cfg.slotTemplate()), len(holders)) {
		d := &apiv1.Device{
			Id: int32(i), Brand: nodes.Brand(n, kind), Type: nodes.DeviceType(kind), //nolint:gosec // slots of a node
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

// ErrNoSlotSwitch is returned by SetSlot, because a node assigns its devices itself.
var ErrNoSlotSwitch = errors.New("single slots cannot be switched on Kubernetes, where a node hands out its own devices; " +
	"disable the whole agent, or cordon the node")

// SetAgent implements rm.Machines. The setting is stored before SetAgent returns, and survives
// restarts of the node and the master. The node itself is not changed, so its other pods continue.
func (r *RM) SetAgent(ctx context.Context, id rm.AgentID, s rm.Switch) (*apiv1.Agent, error) {
	agent, err := r.agents.setAgent(ctx, id, s)
	if err != nil {
		return nil, fmt.Errorf("switch agent %s: %w", id, err)
	}
	return agent, nil
}

func (g *agents) setAgent(ctx context.Context, id rm.AgentID, s rm.Switch) (*apiv1.Agent, error) {
	switch s {
	case rm.Enable, rm.Disable, rm.Drain:
	default:
		return nil, fmt.Errorf("must be %s, %s or %s (%q)", rm.Enable, rm.Disable, rm.Drain, s)
	}
	if _, found := g.findAgent(id); !found {
		return nil, rm.ErrUnknownAgent
	}
	var err error
	if s == rm.Enable {
		err = g.records.Delete(ctx, records.NodeKey+string(id))
	} else {
		err = g.records.Put(ctx, records.NodeKey+string(id), records.Node{State: s})
	}
	if err != nil {
		return nil, err
	}
	g.applySwitch(id, s)
	agent, found := g.findAgent(id)
	if !found {
		return nil, rm.ErrUnknownAgent
	}
	return agent, nil
}

// applySwitch applies a setting. Allocations that are not completely placed are undone.
func (g *agents) applySwitch(id rm.AgentID, s rm.Switch) {
	g.state.mu.Lock()
	defer g.state.mu.Unlock()
	defer g.state.passes.Wake()
	if s == rm.Enable {
		delete(g.state.switches, id)
		return
	}
	g.state.switches[id] = s
	for _, a := range g.state.allocations {
		switch a.phase {
		case Making, Gated, Opening:
			g.state.undoAttempt(a, fmt.Sprintf("agent %s was switched off, which its pods do not know", id), time.Time{})
		case Running:
			if s == rm.Disable && a.runsOn(id) {
				g.state.killAllocation(a, rm.CauseAgentLost, fmt.Sprintf("agent %s was disabled", id))
			}
		case Queued, Undoing, Over:
		}
	}
}

// SetSlot implements rm.Machines. It returns ErrNoSlotSwitch.
func (r *RM) SetSlot(_ context.Context, id rm.AgentID, slot int, _ rm.Switch) (*apiv1.Slot, error) {
	if _, found := r.agents.findAgent(id); !found {
		return nil, fmt.Errorf("switch slot %d of agent %s: %w", slot, id, rm.ErrUnknownAgent)
	}
	return nil, fmt.Errorf("switch slot %d of agent %s: %w", slot, id, ErrNoSlotSwitch)
}

func (g *agents) findAgent(id rm.AgentID) (*apiv1.Agent, bool) {
	g.state.mu.Lock()
	defer g.state.mu.Unlock()
	for _, a := range g.listAgents() {
		if a.GetId() == string(id) {
			return a, true
		}
	}
	return nil, false
}

// poolsOf returns the resource pools whose pods may run on a node.
func (g *agents) poolsOf(n *corev1.Node) []string {
	var out []string
	for _, p := range g.cfg.Pools {
		if slices.ContainsFunc(g.placements[p.Name], func(p nodes.Placement) bool { return p.Admits(n) }) {
			out = append(out, p.Name)
		}
	}
	return out
}
