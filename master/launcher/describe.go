package launcher

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/det-deploy/det-deploy/cloud"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/elastic"
	"github.com/det-deploy/det-deploy/master/pool"
	"github.com/det-deploy/det-deploy/master/rm"
)

// listRoom returns the machines that may still join. A task that fits only with them waits.
func (s *state) listRoom() []pool.Shape {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.pool.Limits.Max
	for _, m := range s.fleet.Machines {
		if m.State == elastic.Joined {
			n--
		}
	}
	if n <= 0 {
		return nil
	}
	return []pool.Shape{{Slots: s.pool.Shape.Slots, Count: n}}
}

// findMachine returns a copy of a machine that is not gone.
func (s *state) findMachine(id cloud.InstanceID) (elastic.Machine, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.fleet.Machines[id]
	if m == nil {
		return elastic.Machine{}, false
	}
	return *m, true
}

// explainWait returns the reason why an allocation does not get its machines.
func (s *state) explainWait(id rm.AllocationID) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	fate, known := s.fates[string(id)]
	if !known {
		return ""
	}
	now, standing := time.Now(), s.decision.Standing
	text := elastic.Explain(fate, s.decision, s.pool.Limits)
	held := false
	if fate == elastic.Coming {
		// It may be waiting for a call whose answer was lost.
		if standing, held = s.fleet.Held(now); held {
			text = standing.Words()
		}
	}
	if fate == elastic.Wanted || held {
		if next := standing.Next(now); next != "" {
			text += "; " + next
		}
	}
	return text
}

// describePool adds the configuration and the state of its machines to a pool.
func (s *state) describePool(out *apiv1.ResourcePool) {
	if s.pool.Describe != nil {
		s.pool.Describe(out)
	}
	l := s.pool.Limits
	out.MinAgents, out.MaxAgents = int32(l.Min), int32(l.Max) //nolint:gosec // configured numbers of machines
	out.MaxIdleAgentPeriod, out.MaxAgentStartingPeriod = float32(l.MaxIdle.Seconds()), float32(l.MaxStarting.Seconds())
	if out.GetSlotsPerAgent() == 0 {
		n := int32(s.pool.Shape.Slots) //nolint:gosec // devices of one machine
		out.SlotsPerAgent = &n
	}
	out.InstanceType = s.pool.Offers[0].Type
	out.Preemptible = slices.ContainsFunc(s.pool.Offers, func(o cloud.Offer) bool { return o.Price == cloud.Spot })
	out.Machines = s.countMachines()
}

// countMachines returns the pool's machines by state, the active refusals and the problems.
func (s *state) countMachines() *apiv1.PoolMachines {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := &apiv1.PoolMachines{Demand: int32(s.decision.Demand)} //nolint:gosec // bounded by the limits
	for _, l := range s.fleet.Launches {
		out.Launching += int32(l.Count) //nolint:gosec // bounded by the limits
	}
	for _, m := range s.fleet.Machines {
		if s.fleet.Launches[m.Token] != nil {
			out.Launching--
		}
		switch m.State {
		case elastic.Starting:
			out.Starting++
		case elastic.Joined:
			out.Joined++
			if !m.Idle().IsZero() {
				out.Idle++
			}
		case elastic.Lost:
			out.Lost++
		case elastic.Draining:
			out.Draining++
		case elastic.Terminating:
			out.Terminating++
		case elastic.Gone:
		}
	}
	now := time.Now()
	if r, shown := s.fleet.Shown(now); shown {
		out.Problems = append(out.Problems, fmt.Sprintf("launches no machines until %s, because of launch_error_timeout: %s", r.Until.UTC().Format(time.RFC3339), r.Words()))
	}
	for _, r := range s.fleet.Standing(now) {
		out.Refusals = append(out.Refusals, &apiv1.LaunchRefusal{
			Kind: string(r.Kind), InstanceType: r.Offer.Type, Zone: r.Offer.Zone, Price: string(r.Offer.Price),
			Reason: r.Words(), NextTry: timestamppb.New(r.Until),
		})
	}
	for _, what := range slices.Sorted(maps.Keys(s.problems)) {
		out.Problems = append(out.Problems, fmt.Sprintf("%s: %s", what, s.problems[what]))
	}
	return out
}

// IsSpot reports whether a machine was launched for a pool as a spot machine.
func (l *Launchers) IsSpot(pool, machine string) bool {
	p := l.pools[pool]
	if p == nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	m := p.fleet.Machines[cloud.InstanceID(machine)]
	return m != nil && m.Offer.Price == cloud.Spot
}
