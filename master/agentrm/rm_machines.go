package agentrm

import (
	"context"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
)

// Agents implements rm.Machines.
func (r *RM) Agents() []*apiv1.Agent { return r.state.listAgents() }

// SetAgent implements rm.Machines. The switch is stored before it is answered,
// and outlives the agent's and the master's restarts.
func (r *RM) SetAgent(ctx context.Context, id rm.AgentID, s rm.Switch) (*apiv1.Agent, error) {
	return r.roster.switchAgent(ctx, id, s)
}

// SetSlot implements rm.Machines, like SetAgent.
func (r *RM) SetSlot(ctx context.Context, id rm.AgentID, slot int, s rm.Switch) (*apiv1.Slot, error) {
	return r.roster.switchSlot(ctx, id, slot, s)
}

// Expel is Lose for an agent that must not come back: it is told so, and its link is
// cut whether or not it reads that.
func (r *RM) Expel(id rm.AgentID, reason string) {
	r.connections.dropPreparing(id, reason)
	r.roster.expelAgent(id, reason)
}

// Remove is Lose for a machine that is gone for good, as launched machines are:
// nothing is kept for its return. An agent that is still there is told that this
// was intended, and shuts down without a complaint.
func (r *RM) Remove(id rm.AgentID, reason string) { r.roster.removeAgent(id, reason) }

// Retire keeps an agent from getting anything new, because its machine is to
// go, and says how many containers it has. It is no operator's switch: it is not
// stored, and holds whether or not the agent is connected.
func (r *RM) Retire(id rm.AgentID) (containers int) { return r.roster.retireAgent(id) }

// Unretire takes Retire back.
func (r *RM) Unretire(id rm.AgentID) { r.roster.unretireAgent(id) }
