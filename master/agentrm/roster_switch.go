package agentrm

import (
	"context"
	"fmt"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
)

// switchAgent stores an agent's switch and carries it out.
func (r *roster) switchAgent(ctx context.Context, id rm.AgentID, s rm.Switch) (*apiv1.Agent, error) {
	err := r.storeSwitch(ctx, id, s, func(a *agent) (undo func(), err error) {
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
			r.runner.killAllocation(c.allocation, rm.CauseAgentLost, fmt.Sprintf("agent %s was disabled", id))
		}
	}
	return a.toAPI(), nil
}

// switchSlot is switchAgent for one device.
func (r *roster) switchSlot(ctx context.Context, id rm.AgentID, slot int, s rm.Switch) (*apiv1.Slot, error) {
	err := r.storeSwitch(ctx, id, s, func(a *agent) (undo func(), err error) {
		if !a.hasSlot(slot) {
			return nil, rm.ErrUnknownSlot
		}
		before := a.slotSwitch(slot)
		a.slots[slot] = s
		return func() { a.slots[slot] = before }, nil
	})
	if err != nil {
		return nil, fmt.Errorf("switch slot %d of agent %s: %w", slot, id, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	a := r.agents[id]
	if a == nil || !a.hasSlot(slot) {
		return nil, fmt.Errorf("switch slot %d of agent %s: %w", slot, id, rm.ErrUnknownSlot)
	}
	for _, c := range a.containers {
		if a.slotSwitch(slot) == rm.Disable && c.usesSlot(slot) {
			r.runner.killAllocation(c.allocation, rm.CauseAgentLost, fmt.Sprintf("slot %d of agent %s was disabled", slot, id))
		}
	}
	return a.toAPI().GetSlots()[slotKey(a.findDevice(slot))], nil
}

// storeSwitch turns a switch, stores it, and turns it back if that was refused.
func (r *roster) storeSwitch(ctx context.Context, id rm.AgentID, s rm.Switch, turn func(*agent) (undo func(), err error)) error {
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
	r.noteAgents()
	r.mu.Unlock()
	if err != nil {
		return err
	}
	defer r.passes.Wake()
	if err := r.records.saveAgent(ctx, id); err != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		undo()
		r.noteAgents()
		return err
	}
	return nil
}
