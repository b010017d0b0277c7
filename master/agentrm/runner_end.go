package agentrm

import (
	"context"
	"time"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
)

// giveUpContainer settles the end of a container without its agent.
func (r *runner) giveUpContainer(c *container, reason string) {
	if c.hasEnded() || c.givenUp {
		return
	}
	c.givenUp = true
	kind := agentv1.Exit_KIND_LOST
	if !c.sent && !c.received {
		kind = agentv1.Exit_KIND_NOT_STARTED
	}
	change := &agentv1.Change{
		ContainerId: string(c.id), State: apiv1.Container_STATE_TERMINATED, AtUs: time.Now().UnixMicro(),
		Exit: &agentv1.Exit{Kind: kind, Message: reason},
	}
	r.work.Add(c.allocation.laneName(), func(ctx context.Context) time.Duration { return r.applyChange(ctx, c, change) })
}

// loseContainer ends a container that is nowhere any more, and with it the
// whole allocation: the loss is the machine's, not the task's.
func (r *runner) loseContainer(c *container, reason string) {
	r.giveUpContainer(c, reason)
	r.killAllocation(c.allocation, rm.CauseAgentLost, reason)
}

// applyChange takes in a container's new state: owner first, own record second, and
// the agent is told last. It may be repeated at any point.
func (r *runner) applyChange(ctx context.Context, c *container, change *agentv1.Change) time.Duration {
	a := c.allocation
	if r.isNewState(c, change.GetState()) {
		if err := r.cfg.Tasks.Changed(ctx, r.describeChange(c, change)); err != nil {
			return r.logRetry(ctx, "tell of container", a, err)
		}
		r.advanceState(c, change.GetState())
	}
	if change.GetState() == apiv1.Container_STATE_TERMINATED {
		if again := r.settleAllocation(ctx, a); again > 0 {
			return again
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	c.stored = max(c.stored, change.GetState())
	r.agents[c.agent].sendMessage(ackOf(change))
	return 0
}

// isNewState reports whether a state is ahead of what is stored. States only go
// forward, so a repeated one is old news.
func (r *runner) isNewState(c *container, s apiv1.Container_State) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return s > c.state
}

func (r *runner) advanceState(c *container, s apiv1.Container_State) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c.state = s
	c.markReceived()
	if !c.hasEnded() {
		return
	}
	if agent := r.agents[c.agent]; agent != nil {
		delete(agent.containers, c.id)
	}
	r.passes.Wake()
}

func (r *runner) describeChange(c *container, change *agentv1.Change) rm.ContainerChange {
	out := rm.ContainerChange{
		Allocation: c.allocation.Allocation, Container: c.id, Agent: c.agent, Rank: c.rank,
		State: change.GetState(), Exit: change.GetExit(), Addresses: change.GetAddresses(),
		At: agentv1.Instant(change.GetAtUs(), time.Now()),
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if agent := r.agents[c.agent]; agent != nil && out.State == apiv1.Container_STATE_RUNNING {
		out.Host, out.Machine = r.hostOn(agent, c.allocation), agent.machine
	}
	return out
}

// settleAllocation stores how far an allocation has come. When nothing is left of it, its
// owner is told and it is forgotten.
func (r *runner) settleAllocation(ctx context.Context, a *allocation) time.Duration {
	end, ended, over := r.outcomeOf(a)
	if over {
		return 0
	}
	if !ended {
		if err := r.records.saveAllocation(ctx, a); err != nil {
			return r.logRetry(ctx, "store allocation", a, err)
		}
		return 0
	}
	if err := r.cfg.Tasks.Ended(ctx, a.Allocation, end); err != nil {
		return r.logRetry(ctx, "tell of end", a, err)
	}
	if err := r.records.dropAllocation(ctx, a.Allocation); err != nil {
		return r.logRetry(ctx, "forget allocation", a, err)
	}
	r.forgetAllocation(a)
	return 0
}

func (r *runner) outcomeOf(a *allocation) (end rm.End, ended, over bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	end = rm.End{Cause: rm.CauseExited, Reason: "all containers have ended", At: time.Now()}
	if a.release != nil {
		end.Cause, end.Reason = a.release.Cause, a.release.Reason
	}
	return end, a.hasEnded(), a.phase == Over
}

// forgetAllocation removes an allocation that no message can name any more.
func (r *runner) forgetAllocation(a *allocation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := a.setState(Over); err != nil {
		r.cfg.Log.Error("cannot end allocation", "allocation", a.Allocation, "err", err)
	}
	delete(r.allocations, a.Allocation)
	delete(r.waitingOf(a.Pool).single, a.Allocation)
	r.queue.End(a.Allocation)
	for _, c := range a.containers {
		delete(r.containers, c.id)
	}
	r.passes.Wake()
}
