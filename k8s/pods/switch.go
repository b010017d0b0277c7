package pods

import (
	"context"
	"errors"
	"fmt"
	"time"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
)

// ErrNoSlotSwitch refuses what Kubernetes cannot do: it hands out the devices of a
// node by itself.
var ErrNoSlotSwitch = errors.New("single slots cannot be switched on Kubernetes, where a node hands out its own devices; " +
	"disable the whole agent, or cordon the node")

// SetAgent implements rm.Machines. The switch is stored before it is answered, and
// outlives the node's and the master's restarts. The node itself is not touched:
// what else uses it goes on.
func (r *RM) SetAgent(ctx context.Context, id rm.AgentID, s rm.Switch) (*apiv1.Agent, error) {
	agent, err := r.setAgent(ctx, id, s)
	if err != nil {
		return nil, fmt.Errorf("switch agent %s: %w", id, err)
	}
	return agent, nil
}

func (r *RM) setAgent(ctx context.Context, id rm.AgentID, s rm.Switch) (*apiv1.Agent, error) {
	switch s {
	case rm.Enable, rm.Disable, rm.Drain:
	default:
		return nil, fmt.Errorf("must be %s, %s or %s (%q)", rm.Enable, rm.Disable, rm.Drain, s)
	}
	if _, found := r.agent(id); !found {
		return nil, rm.ErrUnknownAgent
	}
	var err error
	if s == rm.Enable {
		err = r.records.drop(ctx, nodeKey+string(id))
	} else {
		err = r.records.put(ctx, nodeKey+string(id), nodeDoc{State: s})
	}
	if err != nil {
		return nil, err
	}
	r.turn(id, s)
	agent, found := r.agent(id)
	if !found {
		return nil, rm.ErrUnknownAgent
	}
	return agent, nil
}

// turn carries a switch out. What is not all on nodes yet looks for others.
func (r *RM) turn(id rm.AgentID, s rm.Switch) {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer r.stir()
	if s == rm.Enable {
		delete(r.switches, id)
		return
	}
	r.switches[id] = s
	for _, a := range r.allocations {
		switch a.phase {
		case Making, Gated, Opening:
			r.undo(a, fmt.Sprintf("agent %s was switched off, which its pods do not know", id), time.Time{})
		case Running:
			if s == rm.Disable && a.on(id) {
				r.kill(a, rm.CauseAgentLost, fmt.Sprintf("agent %s was disabled", id))
			}
		case Queued, Undoing, Over:
		}
	}
}

// on reports whether a part of the allocation that has not ended is on a node.
func (a *allocation) on(id rm.AgentID) bool {
	for _, c := range a.containers {
		if c.node == id && !c.ended() {
			return true
		}
	}
	return false
}

// SetSlot implements rm.Machines. It refuses with ErrNoSlotSwitch.
func (r *RM) SetSlot(_ context.Context, id rm.AgentID, slot int, _ rm.Switch) (*apiv1.Slot, error) {
	if _, found := r.agent(id); !found {
		return nil, fmt.Errorf("switch slot %d of agent %s: %w", slot, id, rm.ErrUnknownAgent)
	}
	return nil, fmt.Errorf("switch slot %d of agent %s: %w", slot, id, ErrNoSlotSwitch)
}

func (r *RM) agent(id rm.AgentID) (*apiv1.Agent, bool) {
	for _, a := range r.Agents() {
		if a.GetId() == string(id) {
			return a, true
		}
	}
	return nil, false
}
