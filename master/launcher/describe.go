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

// room is what may still join: a task that fits only with it waits.
func (p *Launcher) room() []pool.Shape {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.pool.Limits.Max
	for _, m := range p.fleet.Machines {
		if m.State == elastic.Joined {
			n--
		}
	}
	if n <= 0 {
		return nil
	}
	return []pool.Shape{{Slots: p.pool.Shape.Slots, Count: n}}
}

// machine is a copy of one that is not gone.
func (p *Launcher) machine(id cloud.InstanceID) (elastic.Machine, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	m := p.fleet.Machines[id]
	if m == nil {
		return elastic.Machine{}, false
	}
	return *m, true
}

// waits is why an allocation does not get its machines.
func (p *Launcher) waits(id rm.AllocationID) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	fate, known := p.fates[string(id)]
	if !known {
		return ""
	}
	now, standing := time.Now(), p.decision.Standing
	text := elastic.Explain(fate, p.decision, p.pool.Limits)
	held := false
	if fate == elastic.Coming {
		// What it waits for may be a call whose answer was lost.
		if standing, held = p.fleet.Held(now); held {
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

// describe adds to a pool what is configured and known of its machines.
func (p *Launcher) describe(out *apiv1.ResourcePool) {
	if p.pool.Describe != nil {
		p.pool.Describe(out)
	}
	l := p.pool.Limits
	out.MinAgents, out.MaxAgents = int32(l.Min), int32(l.Max) //nolint:gosec // configured numbers of machines
	out.MaxIdleAgentPeriod, out.MaxAgentStartingPeriod = float32(l.MaxIdle.Seconds()), float32(l.MaxStarting.Seconds())
	if out.GetSlotsPerAgent() == 0 {
		n := int32(p.pool.Shape.Slots) //nolint:gosec // devices of one machine
		out.SlotsPerAgent = &n
	}
	out.InstanceType = p.pool.Offers[0].Type
	out.Preemptible = slices.ContainsFunc(p.pool.Offers, func(o cloud.Offer) bool { return o.Price == cloud.Spot })
	out.Machines = p.count()
}

// count is the pool's machines by what they do, and what stands in their way.
func (p *Launcher) count() *apiv1.PoolMachines {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := &apiv1.PoolMachines{Demand: int32(p.decision.Demand)} //nolint:gosec // bounded by the limits
	for _, l := range p.fleet.Launches {
		out.Launching += int32(l.Count) //nolint:gosec // bounded by the limits
	}
	for _, m := range p.fleet.Machines {
		if p.fleet.Launches[m.Token] != nil {
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
	for _, r := range p.fleet.Standing(time.Now()) {
		out.Refusals = append(out.Refusals, &apiv1.LaunchRefusal{
			Kind: string(r.Kind), InstanceType: r.Offer.Type, Zone: r.Offer.Zone, Price: string(r.Offer.Price),
			Reason: r.Words(), NextTry: timestamppb.New(r.Until),
		})
	}
	for _, what := range slices.Sorted(maps.Keys(p.problems)) {
		out.Problems = append(out.Problems, fmt.Sprintf("%s: %s", what, p.problems[what]))
	}
	return out
}
