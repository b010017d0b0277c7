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
	r.addReport(report{container: c, change: change})
}

// loseContainer ends a container that is nowhere any more, and with it the
// whole allocation: the loss is the machine's, not the task's.
func (r *runner) loseContainer(c *container, reason string) {
	r.giveUpContainer(c, reason)
	r.killAllocation(c.allocation, rm.CauseAgentLost, reason)
}

// describeChange is a new state as its owner is told. The caller holds mu.
func (r *runner) describeChange(c *container, change *agentv1.Change) rm.ContainerChange {
	out := rm.ContainerChange{
		Allocation: c.allocation.Allocation, Container: c.id, Agent: c.agent, Rank: c.rank,
		State: change.GetState(), Exit: change.GetExit(), Addresses: change.GetAddresses(),
		At: agentv1.Instant(change.GetAtUs(), time.Now()),
	}
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
	if err := r.tasks.ReportedWith(ctx, a.Allocation, nil, &end, dropAllocation(a.Allocation)); err != nil {
		return r.logRetry(ctx, "tell of end", a, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forgetAllocation(a)
	return 0
}

func (r *runner) outcomeOf(a *allocation) (end rm.End, ended, over bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return a.describeEnd(), a.hasEnded(), a.phase == Over
}

// describeEnd is why nothing of an allocation is left, now.
func (a *allocation) describeEnd() rm.End {
	if a.release != nil {
		return rm.End{Cause: a.release.Cause, Reason: a.release.Reason, At: time.Now()}
	}
	return rm.End{Cause: rm.CauseExited, Reason: "all containers have ended", At: time.Now()}
}

// forgetAllocation removes an allocation that no message can name any more. The caller holds mu.
func (r *runner) forgetAllocation(a *allocation) {
	if err := a.setState(Over); err != nil {
		r.cfg.Log.Error("cannot end allocation", "allocation", a.Allocation, "err", err)
	}
	delete(r.allocations, a.Allocation)
	r.leaveWaiting(a)
	r.queue.End(a.Allocation)
	for _, c := range a.containers {
		delete(r.containers, c.id)
	}
	r.passes.Wake()
}
