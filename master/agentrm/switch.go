package agentrm

import (
	"context"
	"fmt"
	"slices"
	"time"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
)

// SetAgent implements rm.Machines. The switch is stored before it is answered,
// and outlives the agent's and the master's restarts.
func (r *RM) SetAgent(ctx context.Context, id rm.AgentID, s rm.Switch) (*apiv1.Agent, error) {
	err := r.flip(ctx, id, s, func(a *agent) (undo func(), err error) {
		before := a.state
		a.state = s
		return func() { a.state = before }, nil
	})
	if err != nil {
		return nil, fmt.Errorf("switch agent %s: %w", id, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	a := r.agents[id]
	if a == nil {
		return nil, fmt.Errorf("switch agent %s: %w", id, rm.ErrUnknownAgent)
	}
	for _, c := range a.containers {
		if a.state == rm.Disable {
			r.kill(c.allocation, rm.CauseAgentLost, fmt.Sprintf("agent %s was disabled", id))
		}
	}
	return a.api(), nil
}

// SetSlot implements rm.Machines, like SetAgent.
func (r *RM) SetSlot(ctx context.Context, id rm.AgentID, slot int, s rm.Switch) (*apiv1.Slot, error) {
	err := r.flip(ctx, id, s, func(a *agent) (undo func(), err error) {
		if !a.has(slot) {
			return nil, rm.ErrUnknownSlot
		}
		before := a.slot(slot)
		a.slots[slot] = s
		return func() { a.slots[slot] = before }, nil
	})
	if err != nil {
		return nil, fmt.Errorf("switch slot %d of agent %s: %w", slot, id, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	a := r.agents[id]
	if a == nil || !a.has(slot) {
		return nil, fmt.Errorf("switch slot %d of agent %s: %w", slot, id, rm.ErrUnknownSlot)
	}
	for _, c := range a.containers {
		if a.slot(slot) == rm.Disable && c.uses(slot) {
			r.kill(c.allocation, rm.CauseAgentLost, fmt.Sprintf("slot %d of agent %s was disabled", slot, id))
		}
	}
	return a.api().GetSlots()[slotKey(a.device(slot))], nil
}

// flip turns a switch, stores it, and turns it back if that was refused.
func (r *RM) flip(ctx context.Context, id rm.AgentID, s rm.Switch, turn func(*agent) (undo func(), err error)) error {
	switch s {
	case rm.Enable, rm.Disable, rm.Drain:
	default:
		return fmt.Errorf("must be %s, %s or %s (%q)", rm.Enable, rm.Disable, rm.Drain, s)
	}
	r.mu.Lock()
	a := r.agents[id]
	if a == nil {
		r.mu.Unlock()
		return rm.ErrUnknownAgent
	}
	undo, err := turn(a)
	r.mu.Unlock()
	if err != nil {
		return err
	}
	defer r.stir()
	if err := r.saveAgent(ctx, id); err != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		undo()
		return err
	}
	return nil
}

func (a *agent) has(slot int) bool {
	return slices.ContainsFunc(a.devices, func(d *apiv1.Device) bool { return int(d.GetId()) == slot })
}

// slot is the switch of one device.
func (a *agent) slot(id int) rm.Switch {
	if s, set := a.slots[id]; set {
		return s
	}
	return rm.Enable
}

func (c *container) uses(slot int) bool {
	for _, d := range c.devices {
		if int(d.GetId()) == slot {
			return true
		}
	}
	return false
}

func newAgent(id rm.AgentID, now time.Time) *agent {
	return &agent{
		id: id, presence: Connected, since: now, registered: now, state: rm.Enable,
		slots: make(map[int]rm.Switch), containers: make(map[rm.ContainerID]*container),
	}
}
