package agentrm

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/pool"
	"github.com/det-deploy/det-deploy/master/rm"
)

// scheduler makes passes over all pools: it asks master/pool what should happen and has
// runner do it. A pass holds state.mu from beginning to end.
type scheduler struct {
	*state
	runner *runner
	roster *roster
}

// waitForPass returns nil once a pass over all pools was made after it was asked, which a
// loop that is stuck never does; ctx bounds the wait.
func (s *scheduler) waitForPass(ctx context.Context) error {
	s.mu.Lock()
	running := s.running
	s.mu.Unlock()
	if !running {
		return errors.New("the pools of agents are not run")
	}
	return s.passes.Wait(ctx)
}

// runPass is one pass over all pools. It returns when to look again at the latest;
// zero is never.
func (s *scheduler) runPass(now time.Time) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := s.roster.expireAgents(now)
	for _, a := range s.allocations {
		next = earliestTime(next, a.changesAt(now))
	}
	for _, p := range s.cfg.Pools {
		snapshot := s.snapshotPool(p, now)
		d := pool.Decide(snapshot, now)
		s.carryOut(p, d, now)
		s.cfg.Decided(p.Name, snapshot, d)
		next = earliestTime(next, d.Wake)
	}
	return next
}

func (s *scheduler) carryOut(p Pool, d pool.Decision, now time.Time) {
	for _, start := range d.Start {
		s.placeAllocation(s.allocations[rm.AllocationID(start.Allocation)], start.Placement, now)
	}
	for _, v := range d.Preempt {
		a := s.allocations[rm.AllocationID(v.Allocation)]
		s.runner.preemptAllocation(a, "preempted for "+string(v.For)+", which goes first in pool "+p.Name, now)
	}
	for _, id := range d.Kill {
		s.runner.killAllocation(s.allocations[rm.AllocationID(id)], rm.CausePreempted, "it did not stop in time after it was preempted")
	}
	for _, w := range d.Waiting {
		s.allocations[rm.AllocationID(w.Allocation)].waiting = w.Reason
	}
}

// placeAllocation gives a queued allocation its containers, one on each agent.
func (s *scheduler) placeAllocation(a *allocation, placement []pool.Share, now time.Time) {
	if err := a.setState(Placed); err != nil {
		s.cfg.Log.Error("cannot place allocation", "allocation", a.Allocation, "err", err)
		return
	}
	a.waiting, a.placedAt = "", now
	for rank, share := range placement {
		agent := s.agents[rm.AgentID(share.Agent)]
		c := &container{
			id: rm.ContainerID(uuid.NewString()), allocation: a, agent: agent.id, rank: rank,
			state: apiv1.Container_STATE_ASSIGNED,
		}
		for _, slot := range share.Slots {
			c.devices = append(c.devices, agent.findDevice(slot))
		}
		a.containers = append(a.containers, c)
		agent.containers[c.id] = c
		s.containers[c.id] = c
	}
	s.work.Add(a.laneName(), func(ctx context.Context) time.Duration { return s.runner.launchAllocation(ctx, a) })
}
