package agentrm

import (
	"fmt"
	"slices"
	"time"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/pool"
	"github.com/det-deploy/det-deploy/master/queue"
	"github.com/det-deploy/det-deploy/master/rm"
)

// Phase is the progress of an allocation.
//
//	Queued ──gets its slots──▶ Placed ──nothing is left of it──▶ Over
//	   └────────is killed or preempted while it waits────────────▲
//
// A placed allocation that has to stop also has a release.
type Phase string

const (
	// Queued waits for slots.
	Queued Phase = "queued"
	// Placed has containers on agents, or on their way there.
	Placed Phase = "placed"
	// Over has ended; its owner is being notified.
	Over Phase = "over"
)

var phases = map[Phase][]Phase{
	Queued: {Placed, Over},
	Placed: {Over},
	Over:   {},
}

// allocation is one request, waiting or served. state.mu guards it.
type allocation struct {
	// Entry is its entry in the queue, with the effective pool and priority.
	*queue.Entry
	phase   Phase
	waiting pool.Reason
	// line is the line in which it waits, nil if it is not in one; shownIn is the last of the line's
	// passes that included it.
	line    *line
	shownIn uint64
	// look is the last of the state's looks that included it.
	look uint64
	// explained is the kind of the last wait reason that was reported to its owner.
	explained string
	placedAt  time.Time

	containers []*container
	// reports are not stored yet, in order; storing is set while they are about to be stored.
	reports []report
	storing bool
	// ports are the port numbers assigned to its containers, in the order of Request.Ports.
	ports   []int
	release *release
	// launched is set once the owner has returned the specs to run.
	launched bool
}

// release is the reason why an allocation has to stop. Its cause never changes.
//
//	none ──asked to stop──▶ stops by itself until By ──By has passed, or Kill──▶ Kill
//	  └──────────killed, refused, or its agent is lost───────────────────────────▲
type release struct {
	Cause  rm.Cause  `json:"cause"`
	Reason string    `json:"reason"`
	By     time.Time `json:"by,omitzero"` // when it is killed, unless it already is
	Kill   bool      `json:"kill,omitempty"`
	// terminate reports that the program listens for no signal but SIGTERM.
	terminate bool
}

// boundTime returns a release whose deadline is at most the full preemption timeout from now, because
// the clock may have been set back since the release was stored. The deadline of an interruption is the
// platform's and stays. A nil release stays nil.
func (r *release) boundTime(now time.Time, most time.Duration) *release {
	last := now.Add(most)
	if r == nil || r.Cause != rm.CausePreempted || !last.Before(r.By) {
		return r
	}
	bounded := *r
	bounded.By = last
	return &bounded
}

// container is one container of a placed allocation. state.mu guards it. Its state is that of the API
// and only advances. The order to start it has a separate state:
//
//	spec is known ──link takes the start──▶ sent ──agent has it on disk──▶ received
//	      │ ▲                                │
//	      │ └──link is gone, and it is killed┘
//	      └──is killed, or its agent is lost──▶ givenUp (from sent and received, too)
type container struct {
	id         rm.ContainerID
	allocation *allocation
	agent      rm.AgentID
	devices    []*apiv1.Device
	rank       int
	state      apiv1.Container_State
	// stored is the state that a restarted master would know. Only this state is sent to the agent,
	// which deletes its record of the container after TERMINATED.
	stored apiv1.Container_State
	spec   *agentv1.Spec
	// sent reports that a start may have reached the agent, received that it has.
	sent     bool
	received bool
	// givenUp reports that its end is decided, regardless of its agent's reports.
	givenUp bool
}

// setState changes the phase of an allocation. It returns an error for a transition that is not in the
// table.
func (a *allocation) setState(to Phase) error {
	if !slices.Contains(phases[a.phase], to) {
		return fmt.Errorf("cannot move allocation %s from %s to %s: no such transition", a.Allocation, a.phase, to)
	}
	a.setPhase(to)
	return nil
}

// setPhase sets the phase and updates the queue's stage: a placed allocation holds its slots until it
// has ended.
func (a *allocation) setPhase(p Phase) {
	a.phase = p
	if p != Queued {
		a.Stage = queue.Running
	}
}

// laneName returns the lane in which the work for an allocation is done in order.
func (a *allocation) laneName() string { return string(a.Allocation) }

// hasEnded reports whether all its containers have ended.
func (a *allocation) hasEnded() bool {
	return !slices.ContainsFunc(a.containers, func(c *container) bool { return !c.hasEnded() })
}

func (a *allocation) isKilled() bool { return a.release != nil && a.release.Kill }

func (c *container) hasEnded() bool { return c.state == apiv1.Container_STATE_TERMINATED }

// forScheduler returns the allocation as input of the scheduler.
func (a *allocation) forScheduler() pool.Allocation {
	out := pool.Allocation{
		ID: pool.AllocationID(a.Allocation), Job: pool.JobID(a.Job), Slots: a.Slots, Priority: a.Priority,
		Position: positionOf(a.Entry), Submitted: a.Submitted, Preemptible: a.Preemptible, SingleNode: a.SingleNode,
		MaxSlots: a.SlotLimit(), State: pool.Pending,
	}
	for _, id := range a.ExcludedAgents {
		out.Exclude = append(out.Exclude, pool.AgentID(id))
	}
	if a.phase == Queued {
		return out
	}
	out.State = pool.Running
	if a.release != nil {
		out.State = pool.Releasing
		if !a.release.Kill {
			out.Deadline = a.release.By
		}
	}
	for _, c := range a.containers {
		if c.hasEnded() {
			continue
		}
		share := pool.Share{Agent: pool.AgentID(c.agent)}
		for _, d := range c.devices {
			share.Slots = append(share.Slots, int(d.GetId()))
		}
		out.Placement = append(out.Placement, share)
	}
	return out
}

// describeForOwner returns the allocation for its owner.
func (a *allocation) describeForOwner() rm.Allocation {
	out := rm.Allocation{Request: a.Request, Pool: a.Pool, Priority: a.Priority}
	if a.phase == Queued {
		out.Waiting = string(a.waitsFor())
		if out.Waiting == "" {
			out.Waiting = "waiting for the scheduler"
		}
		if a.isHeld(time.Now()) {
			out.Waiting = "next try at " + a.NotBefore.UTC().Format(time.RFC3339)
		}
		if a.Delayed != "" {
			out.Waiting += "; " + a.Delayed
		}
	}
	if a.release != nil && !a.release.Kill {
		out.PreemptBy = a.release.By
	}
	for _, c := range a.containers {
		out.Containers = append(out.Containers, c.describeForOwner())
	}
	return out
}

func (c *container) describeForOwner() rm.Container {
	return rm.Container{ID: c.id, Agent: c.agent, Devices: slices.Clone(c.devices), Rank: c.rank, State: c.state}
}

// toAPI returns the container as an API message.
func (c *container) toAPI() *apiv1.Container {
	return &apiv1.Container{
		Parent: string(c.allocation.Allocation), Id: string(c.id), State: c.state,
		Devices: slices.Clone(c.devices),
	}
}

func (c *container) usesSlot(slot int) bool {
	for _, d := range c.devices {
		if int(d.GetId()) == slot {
			return true
		}
	}
	return false
}
