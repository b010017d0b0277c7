package agentrm

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/pool"
	"github.com/det-deploy/det-deploy/master/rm"
)

// scheduler makes passes over all pools: it asks master/pool for a decision and has runner carry it out.
// A pass holds state.mu for a few agents or allocations at a time, and not while it decides; only passes
// place allocations.
type scheduler struct {
	*state
	runner *runner
	roster *roster
}

// waitForPass returns nil once a pass over all pools that began after the call has ended, or ctx's error
// if it ends first, because the loop is stuck or has not begun.
func (s *scheduler) waitForPass(ctx context.Context) error {
	select {
	case <-s.began:
	case <-ctx.Done():
		return fmt.Errorf("agent pools are not running yet: %w", ctx.Err())
	}
	s.mu.Lock()
	running := s.running
	s.mu.Unlock()
	if !running {
		return errors.New("agent pools are no longer running")
	}
	return s.passes.Wait(ctx)
}

// runPass makes one pass over all pools. It returns the time of the next one at the latest; zero means
// never.
func (s *scheduler) runPass(now time.Time) time.Time {
	next := s.expireAgents(now)
	for _, p := range s.cfg.Pools {
		snapshot, changes := s.snapshotPool(p, now)
		s.sendToWatchers(snapshot, p.Name)
		d := pool.Decide(snapshot, now)
		s.carryOut(p, d, now)
		if s.explainLines(p) {
			s.passes.Wake()
		}
		s.cfg.Decided(p.Name, snapshot, s.dropVainLaunches(p, d))
		next = earliestTime(earliestTime(next, changes), d.Wake)
	}
	return next
}

func (s *scheduler) expireAgents(now time.Time) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.roster.expireAgents(now)
}

// carryOut carries out a decision as far as it is still valid: each change since the snapshot of the
// pool wakes the next pass, which considers it.
func (s *scheduler) carryOut(p Pool, d pool.Decision, now time.Time) {
	s.inTurns(len(d.Start), func(i int) {
		if a := s.findQueued(d.Start[i].Allocation); a != nil && a.Pool == p.Name && s.hasRoom(p, needsOf(a.Request), d.Start[i].Placement) {
			s.placeAllocation(a, d.Start[i].Placement, now)
		}
	})
	s.inTurns(len(d.Preempt), func(i int) {
		v := d.Preempt[i]
		if a, first := s.findPlaced(v.Allocation), s.findQueued(v.For); a != nil && first != nil {
			s.runner.preemptAllocation(a, "preempted for "+first.Describe()+", which is ahead of it in resource pool "+p.Name, now)
		}
	})
	s.inTurns(len(d.Kill), func(i int) {
		if a := s.findPlaced(d.Kill[i]); a != nil {
			s.runner.killAllocation(a, rm.CausePreempted, "it did not stop in time after it was preempted")
		}
	})
	s.inTurns(len(d.Waiting), func(i int) {
		if a := s.findQueued(d.Waiting[i].Allocation); a != nil {
			a.waiting = d.Waiting[i].Reason
		}
	})
}

// findQueued returns an allocation if it is still waiting, or nil.
func (s *scheduler) findQueued(id pool.AllocationID) *allocation {
	return s.findIn(id, Queued)
}

// findPlaced returns an allocation if it is still placed, or nil.
func (s *scheduler) findPlaced(id pool.AllocationID) *allocation {
	return s.findIn(id, Placed)
}

func (s *scheduler) findIn(id pool.AllocationID, phase Phase) *allocation {
	if a := s.allocations[rm.AllocationID(id)]; a != nil && a.phase == phase {
		return a
	}
	return nil
}

// hasRoom reports whether the agents of a placement still have the room for it.
func (s *scheduler) hasRoom(p Pool, n needs, placement []pool.Share) bool {
	for _, share := range placement {
		a := s.agents[rm.AgentID(share.Agent)]
		if a == nil || a.pool != p.Name || !a.hasRoom(share.Slots, p.MaxAux, n) {
			return false
		}
	}
	return true
}

// placeAllocation creates the containers of a queued allocation, one on each agent.
func (s *scheduler) placeAllocation(a *allocation, placement []pool.Share, now time.Time) {
	if err := a.setState(Placed); err != nil {
		s.cfg.Log.Error("cannot place allocation", "allocation", a.Allocation, "err", err)
		return
	}
	s.holdSlots(a)
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
	a.ports = choosePorts(a.Ports, firstPort(s.cfg.ClusterID), s.portsNear(a))
	s.work.Add(a.laneName(), func(ctx context.Context) time.Duration { return s.runner.launchAllocation(ctx, a) })
}
