package agentrm

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
)

// runner brings placed allocations to their end. It decides under state.mu. It stores, reports and sends
// in the allocation's lane, and retries until that has succeeded: a restarted master may repeat any of
// it.
type runner struct {
	*state
	records *records
	tasks   StoredTasks
}

// resumeAllocations continues the allocations that an earlier master has placed. The caller holds mu.
func (r *runner) resumeAllocations() {
	for _, a := range r.allocations {
		if a.phase == Placed {
			r.resumeAllocation(a)
		}
	}
}

// retryAfter is the pause before a failed call to the store or to the owner of the tasks is retried.
const retryAfter = 500 * time.Millisecond

// logRetry logs that something is retried, and returns the pause before the retry.
func (r *runner) logRetry(ctx context.Context, what string, a *allocation, err error) time.Duration {
	if ctx.Err() == nil {
		r.cfg.Log.Warn("operation failed; retrying", "operation", what, "allocation", a.Allocation, "err", err)
	}
	return retryAfter
}

// launchAllocation stores the placement of an allocation, asks its owner for the specs, and sends them,
// in this order: an agent is never asked to start a container that a restarted master would not know.
func (r *runner) launchAllocation(ctx context.Context, a *allocation) time.Duration {
	if r.isKilled(a) && !r.dropUnlessSent(a) {
		return r.settleAllocation(ctx, a)
	}
	var specs []*agentv1.Spec
	err := r.checkInterfaces(a)
	if err == nil {
		specs, err = r.tasks.AssignedWith(ctx, r.assignmentOf(a), putAllocation(a.Allocation, r.records.copyAllocation(a)))
	}
	if ctx.Err() != nil || isOfStore(err) {
		return r.logRetry(ctx, "store placement", a, err)
	}
	if err == nil && len(specs) != len(a.containers) {
		err = fmt.Errorf("allocation %s has %d containers but %d specs", a.Allocation, len(a.containers), len(specs))
	}
	if err == nil {
		r.startContainers(a, specs)
		return 0
	}
	r.refuseAllocation(a, err)
	return r.settleAllocation(ctx, a)
}

func (r *runner) assignmentOf(a *allocation) rm.Assignment {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := rm.Assignment{Allocation: a.Allocation, Pool: a.Pool, Ports: slices.Clone(a.ports), At: a.placedAt}
	for _, c := range a.containers {
		out.Containers = append(out.Containers, c.describeForOwner())
	}
	return out
}

// refuseAllocation ends an allocation for which its owner has returned an error.
func (r *runner) refuseAllocation(a *allocation, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if a.release == nil {
		a.release = &release{Cause: rm.CauseRefused, Reason: err.Error()}
	}
	a.release.Kill = true
	a.launched = true // no pending work would look at the containers again
	for _, c := range a.containers {
		if c.sent || c.received {
			r.signalKill(c) // an earlier master had it started
			continue
		}
		r.dropContainer(c)
	}
}

// startContainers sends the containers to their agents. Agents that are not connected get theirs when
// they connect.
func (r *runner) startContainers(a *allocation, specs []*agentv1.Spec) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a.launched = true
	for i, c := range a.containers {
		if !c.received {
			c.spec = specs[i]
		}
		r.sendStart(c)
	}
}

// sendStart sends the agent a container that it does not have. A container that is to be killed is not
// started.
func (r *runner) sendStart(c *container) {
	if c.hasEnded() || c.received || c.spec == nil || c.givenUp {
		return
	}
	agent := r.agents[c.agent]
	if c.allocation.isKilled() && !c.sent {
		r.giveUpContainer(c, "killed before it started")
		return
	}
	if agent == nil || agent.link == nil {
		return
	}
	c.sent = true
	ids := make([]int32, 0, len(c.devices))
	for _, d := range c.devices {
		ids = append(ids, d.GetId())
	}
	agent.sendMessage(&agentv1.MasterMessage{Body: &agentv1.MasterMessage_Start{Start: &agentv1.Start{
		ContainerId: string(c.id), AllocationId: string(c.allocation.Allocation), TaskId: string(c.allocation.Task),
		Spec: c.spec, DeviceIds: ids, Rank: int32(c.rank), //nolint:gosec // ranks are below the number of agents
		Rerun: c.allocation.Preemptible,
	}}})
	if c.allocation.release != nil {
		r.signalTerminate(c)
	}
}

// signalKill sends the agent a kill signal for a container, or settles the end of one that was not sent
// to an agent.
func (r *runner) signalKill(c *container) {
	if c.hasEnded() || c.givenUp {
		return
	}
	if !c.sent && !c.received {
		if c.allocation.launched {
			r.giveUpContainer(c, "killed before it started")
		}
		return // launch is pending and will look
	}
	r.agents[c.agent].sendMessage(&agentv1.MasterMessage{Body: &agentv1.MasterMessage_Signal{Signal: &agentv1.Signal{
		ContainerId: string(c.id), Kind: agentv1.Signal_KIND_KILL,
	}}})
}

// signalTerminate has the agent send SIGTERM, and SIGKILL at the deadline.
func (r *runner) signalTerminate(c *container) {
	release := c.allocation.release
	if c.hasEnded() || c.givenUp || (!c.sent && !c.received) || !release.terminate || release.Kill {
		return
	}
	r.agents[c.agent].sendMessage(&agentv1.MasterMessage{Body: &agentv1.MasterMessage_Signal{Signal: &agentv1.Signal{
		ContainerId: string(c.id), Kind: agentv1.Signal_KIND_TERMINATE, GraceUs: max(1, time.Until(release.By).Microseconds()),
	}}})
}

// dropUnlessSent reports whether an agent may have received any container. If not, it ends them all.
func (r *runner) dropUnlessSent(a *allocation) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range a.containers {
		if c.sent || c.received {
			return true
		}
	}
	for _, c := range a.containers {
		r.dropContainer(c)
	}
	return false
}

// dropContainer ends a container that neither its owner nor its agent knows.
func (r *runner) dropContainer(c *container) {
	c.givenUp, c.state = true, apiv1.Container_STATE_TERMINATED
	if agent := r.agents[c.agent]; agent != nil {
		delete(agent.containers, c.id)
	}
}

// resumeAllocation continues an allocation that an earlier master has placed.
func (r *runner) resumeAllocation(a *allocation) {
	if a.hasEnded() {
		r.work.Add(a.laneName(), func(ctx context.Context) time.Duration { return r.settleAllocation(ctx, a) })
		return
	}
	r.work.Add(a.laneName(), func(ctx context.Context) time.Duration { return r.launchAllocation(ctx, a) })
	if a.release != nil && !a.release.Kill {
		r.work.Add(a.laneName(), func(ctx context.Context) time.Duration { return r.reportPreemption(ctx, a) })
	}
}
