package agentrm

import (
	"context"
	"fmt"
	"time"

	"github.com/det-deploy/det-deploy/internal/excerpt"
	"github.com/det-deploy/det-deploy/master/agentrm/link"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
)

// shutdownMargin is the time between the deadline of tasks and the end of their machine, so that their
// last log lines and their exits still reach the master.
const shutdownMargin = 10 * time.Second

// handleNotice drains an agent whose machine may be interrupted. On an interruption notice, it also asks
// the running tasks to checkpoint and stop in time.
func (r *roster) handleNotice(l *link.Link, m *agentv1.Notice) {
	n := Notice{Kind: Rebalance, At: agentv1.Instant(m.GetAtUs(), time.Now()), Reason: excerpt.Of(m.GetReason())}
	if m.GetKind() == agentv1.Notice_KIND_INTERRUPTION {
		n.Kind = Interruption
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	a := r.agents[l.Agent]
	if a == nil || a.link != l {
		return
	}
	if a.notice != nil && (*a.notice == n || a.notice.Kind == Interruption && n.Kind == Rebalance) {
		return
	}
	r.cfg.Log.Info("instance may be interrupted", "agent_id", a.id, "pool", a.pool, "kind", n.Kind, "at", n.At, "reason", n.Reason)
	a.notice = &n
	r.noteAgents()
	if n.Kind == Interruption {
		r.evacuateAgent(a, n, time.Now())
	}
	r.cfg.Noticed(a.id, n)
	r.passes.Wake()
}

// evacuateAgent asks the allocations of an agent to stop before its machine goes.
func (r *roster) evacuateAgent(a *agent, n Notice, now time.Time) {
	for _, c := range a.containers {
		by := now.Add(c.allocation.PreemptionTimeout)
		if last := n.At.Add(-shutdownMargin); last.Before(by) {
			by = last
		}
		r.runner.releaseAllocation(c.allocation, release{Cause: rm.CauseAgentLost, Reason: n.reasonFor(a.id), By: latestTime(by, now)})
	}
}

// handleHealth records whether an agent can start containers.
func (r *roster) handleHealth(l *link.Link, h *agentv1.Health) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := r.agents[l.Agent]
	if a == nil || a.link != l {
		return
	}
	r.setSickness(a, sicknessOf(h))
	r.passes.Wake()
}

// setSickness sets the sickness of an agent and logs changes.
func (r *roster) setSickness(a *agent, now *Sickness) {
	was := a.sick
	if a.sick = now; now != nil {
		r.sick[a.id] = a
	} else {
		delete(r.sick, a.id)
	}
	r.noteAgents()
	switch {
	case now != nil && (was == nil || was.Lack != now.Lack):
		r.cfg.Log.Warn("agent cannot start containers; scheduling no tasks on it", "agent_id", a.id, "pool", a.pool, "lack", now.Lack, "reason", now.Reason)
	case now == nil && was != nil:
		r.cfg.Log.Info("agent can start containers again", "agent_id", a.id, "pool", a.pool, "was", was.Lack)
	}
}

func latestTime(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// switchAgent stores an agent's switch and carries it out. It returns rm.ErrUnknownAgent if there is no
// such agent.
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

// switchSlot is like switchAgent for one device. It returns rm.ErrUnknownSlot if there is no such
// device.
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

// storeSwitch sets a switch and stores it, and reverts it if the write fails.
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
