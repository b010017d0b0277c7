package agentrm

import (
	"context"
	"time"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
)

// explainWaits reports to the owners of waiting allocations, once for each kind of reason, why no
// machines are launched for them.
func (r *runner) explainWaits(ids []rm.AllocationID, w rm.Wait) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range ids {
		a := r.allocations[id]
		if a == nil || a.phase != Queued || a.explained == w.Kind {
			continue
		}
		a.explained = w.Kind
		r.work.Add(a.laneName(), func(ctx context.Context) time.Duration {
			if err := r.cfg.Tasks.Waits(ctx, id, w); err != nil {
				return r.logRetry(ctx, "report wait reason", a, err)
			}
			return 0
		})
	}
}

// refuseWaiting ends a waiting allocation that will not be served.
func (r *runner) refuseWaiting(id rm.AllocationID, reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if a := r.allocations[id]; a != nil && a.phase == Queued {
		r.endAllocation(a, rm.CauseRefused, reason)
	}
}

// preemptAllocation asks an allocation to checkpoint and stop.
func (r *runner) preemptAllocation(a *allocation, reason string, now time.Time) {
	r.releaseAllocation(a, release{Cause: rm.CausePreempted, Reason: reason, By: now.Add(a.PreemptionTimeout)})
}

// releaseAllocation asks a placed allocation to checkpoint and stop in time. A second request can only
// shorten the time.
func (r *runner) releaseAllocation(a *allocation, why release) {
	switch {
	case a.release == nil:
		a.release = &why
	case a.release.Kill || !why.By.Before(a.release.By):
		return
	default:
		sooner := *a.release // an earlier one may be on its way to the store
		sooner.By = why.By
		a.release = &sooner
	}
	r.work.Add(a.laneName(), func(ctx context.Context) time.Duration { return r.reportPreemption(ctx, a) })
	r.passes.Wake()
}

// reportPreemption stores the release, reports it to the owner, and sends SIGTERM to a program that does
// not listen for the owner's signal. It may be repeated.
func (r *runner) reportPreemption(ctx context.Context, a *allocation) time.Duration {
	if r.isOver(a) {
		return 0
	}
	if err := r.records.saveAllocation(ctx, a); err != nil {
		return r.logRetry(ctx, "store allocation", a, err)
	}
	r.mu.Lock()
	why := *a.release
	r.mu.Unlock()
	listens, err := r.cfg.Tasks.Preempted(ctx, a.Allocation, why.Reason, why.By)
	if err != nil {
		return r.logRetry(ctx, "report preemption", a, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if a.release.terminate = !listens; !listens {
		for _, c := range a.containers {
			r.signalTerminate(c)
		}
	}
	return 0
}

// killAllocation ends a placed allocation. The first cause is kept.
func (r *runner) killAllocation(a *allocation, cause rm.Cause, reason string) {
	if a.phase != Placed || a.isKilled() {
		return
	}
	if a.release == nil {
		a.release = &release{Cause: cause, Reason: reason}
	}
	a.release.Kill = true
	for _, c := range a.containers {
		r.signalKill(c)
	}
	r.work.Add(a.laneName(), func(ctx context.Context) time.Duration {
		if r.isOver(a) {
			return 0
		}
		if err := r.records.saveAllocation(ctx, a); err != nil {
			return r.logRetry(ctx, "store allocation", a, err)
		}
		return 0
	})
}

// endAllocation ends an allocation, queued or placed.
func (r *runner) endAllocation(a *allocation, cause rm.Cause, reason string) {
	if a.phase == Placed {
		r.killAllocation(a, cause, reason)
		return
	}
	if a.phase != Queued || a.release != nil {
		return
	}
	// It is moved to Placed without containers, so that no pass places it while the end is reported to
	// its owner; settleAllocation then finds that nothing is left of it.
	a.release = &release{Cause: cause, Reason: reason, Kill: true}
	if err := a.setState(Placed); err != nil {
		r.cfg.Log.Error("cannot end allocation", "allocation", a.Allocation, "err", err)
		return
	}
	r.holdSlots(a)
	r.work.Add(a.laneName(), func(ctx context.Context) time.Duration { return r.settleAllocation(ctx, a) })
}

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

// loseContainer ends a container that no longer exists on an agent, and with it the whole allocation.
// The machine caused the loss, not the task.
func (r *runner) loseContainer(c *container, reason string) {
	r.giveUpContainer(c, reason)
	r.killAllocation(c.allocation, rm.CauseAgentLost, reason)
}

// describeChange returns a new state for its owner. The caller holds mu.
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

// settleAllocation stores the state of an allocation. When nothing is left of it, it reports the end to
// its owner and deletes the allocation.
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
		return r.logRetry(ctx, "report end", a, err)
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

// describeEnd returns the end of an allocation, with the present time.
func (a *allocation) describeEnd() rm.End {
	if a.release != nil {
		return rm.End{Cause: a.release.Cause, Reason: a.release.Reason, At: time.Now()}
	}
	return rm.End{Cause: rm.CauseExited, Reason: "all containers have ended", At: time.Now()}
}

// forgetAllocation deletes an allocation that no message can refer to any more. The caller holds mu.
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
