package agentrm

import (
	"context"
	"fmt"
	"time"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
)

// retryAfter is how long a store, or an owner of tasks, that did not take
// something is left alone.
const retryAfter = 500 * time.Millisecond

// again says in the log that something is tried again, and when.
func (r *RM) again(ctx context.Context, what string, a *allocation, err error) time.Duration {
	if ctx.Err() == nil {
		r.cfg.Log.Warn("try again", "what", what, "allocation", a.Allocation, "err", err)
	}
	return retryAfter
}

// launch stores where an allocation was placed, asks its owner what to run, and
// sends it off, in this order: an agent is never asked to start what a
// restarted master would not know.
func (r *RM) launch(ctx context.Context, a *allocation) time.Duration {
	if r.isKilled(a) && !r.mayRun(a) {
		return r.settle(ctx, a)
	}
	if err := r.save(ctx, a); err != nil {
		return r.again(ctx, "store placement", a, err)
	}
	specs, err := r.cfg.Tasks.Assigned(ctx, r.assignment(a))
	if ctx.Err() != nil {
		return retryAfter
	}
	if err == nil && len(specs) != len(a.containers) {
		err = fmt.Errorf("allocation %s has %d containers and %d of them are described", a.Allocation, len(a.containers), len(specs))
	}
	if err == nil {
		r.start(a, specs)
		return 0
	}
	r.refuse(a, err)
	return r.settle(ctx, a)
}

func (r *RM) assignment(a *allocation) rm.Assignment {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := rm.Assignment{Allocation: a.Allocation, Pool: a.Pool, At: a.placedAt}
	for _, c := range a.containers {
		out.Containers = append(out.Containers, c.describe())
	}
	return out
}

// refuse ends an allocation that its owner does not want run.
func (r *RM) refuse(a *allocation, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if a.release == nil {
		a.release = &release{Cause: rm.CauseRefused, Reason: err.Error()}
	}
	a.release.Kill = true
	a.launched = true // nothing is under way that would look at the containers again
	for _, c := range a.containers {
		if c.sent || c.received {
			r.signalKill(c) // an earlier master had it started
			continue
		}
		r.drop(c)
	}
}

// start sends the containers to their agents; those that are not connected get
// theirs when they are.
func (r *RM) start(a *allocation, specs []*agentv1.Spec) {
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

// sendStart asks the agent for a container that it does not have. One that is to
// be killed is not started at all.
func (r *RM) sendStart(c *container) {
	if c.ended() || c.received || c.spec == nil || c.givenUp {
		return
	}
	agent := r.agents[c.agent]
	if c.allocation.killed() && !c.sent {
		r.giveUp(c, "it was killed before it started")
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
	agent.send(&agentv1.MasterMessage{Body: &agentv1.MasterMessage_Start{Start: &agentv1.Start{
		ContainerId: string(c.id), AllocationId: string(c.allocation.Allocation), TaskId: string(c.allocation.Task),
		Spec: c.spec, DeviceIds: ids, Rank: int32(c.rank), //nolint:gosec // ranks are below the number of agents
		Rerun: c.allocation.Preemptible,
	}}})
	if c.allocation.release != nil {
		r.signalTerminate(c)
	}
}

// signalKill tells the agent to kill a container, or settles the end of one that
// no agent was told of.
func (r *RM) signalKill(c *container) {
	if c.ended() || c.givenUp {
		return
	}
	if !c.sent && !c.received {
		if c.allocation.launched {
			r.giveUp(c, "it was killed before it started")
		}
		return // launch is under way and looks
	}
	r.agents[c.agent].send(&agentv1.MasterMessage{Body: &agentv1.MasterMessage_Signal{Signal: &agentv1.Signal{
		ContainerId: string(c.id), Kind: agentv1.Signal_KIND_KILL,
	}}})
}

// signalTerminate has the agent send SIGTERM, and SIGKILL at the deadline.
func (r *RM) signalTerminate(c *container) {
	release := c.allocation.release
	if c.ended() || c.givenUp || (!c.sent && !c.received) || !release.terminate || release.Kill {
		return
	}
	r.agents[c.agent].send(&agentv1.MasterMessage{Body: &agentv1.MasterMessage_Signal{Signal: &agentv1.Signal{
		ContainerId: string(c.id), Kind: agentv1.Signal_KIND_TERMINATE, GraceUs: max(1, time.Until(release.By).Microseconds()),
	}}})
}

// mayRun reports whether an agent may have been told of any container.
func (r *RM) mayRun(a *allocation) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range a.containers {
		if c.sent || c.received {
			return true
		}
	}
	for _, c := range a.containers {
		r.drop(c)
	}
	return false
}

// drop ends a container that its owner and its agent have not been told of.
func (r *RM) drop(c *container) {
	c.givenUp, c.state = true, apiv1.Container_STATE_TERMINATED
	if agent := r.agents[c.agent]; agent != nil {
		delete(agent.containers, c.id)
	}
}

func (r *RM) isKilled(a *allocation) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return a.killed()
}

func (r *RM) isOver(a *allocation) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return a.phase == Over
}
