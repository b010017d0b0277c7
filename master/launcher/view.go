package launcher

import (
	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/master/elastic"
	"github.com/det-deploy/det-deploy/master/pool"
)

// view is the state of a pool after a scheduling pass.
type view struct {
	pool     pool.Pool
	decision pool.Decision
}

// use is the usage of agents and jobs.
type use struct {
	slots map[pool.AgentID]map[int]bool // held by allocations that continue to run
	aux   map[pool.AgentID]int
	busy  map[pool.AgentID]bool
	jobs  map[pool.JobID]int
}

// toElastic converts the agents and the waiting tasks of a pool to the types of master/elastic.
func (v view) toElastic() ([]elastic.Agent, []elastic.Gang) {
	all := make(map[pool.AllocationID]*pool.Allocation, len(v.pool.Allocations))
	for i := range v.pool.Allocations {
		all[v.pool.Allocations[i].ID] = &v.pool.Allocations[i]
	}
	u := v.sumUses(all)
	agents := make([]elastic.Agent, 0, len(v.pool.Agents))
	for _, a := range v.pool.Agents {
		agents = append(agents, u.describeAgent(a, v.pool.MaxAux))
	}
	gangs := make([]elastic.Gang, 0, len(v.decision.Waiting))
	for _, w := range v.decision.Waiting {
		switch w.Reason {
		case pool.ForSlots, pool.ForPriority, pool.ForRelease:
			gangs = append(gangs, u.describeGang(all[w.Allocation], w.Reason))
		case pool.ForJobLimit, pool.ForCapacity, pool.ForAgents:
			// Another machine would not help.
		}
	}
	return agents, gangs
}

// sumUses adds up the running and newly started allocations. Preempted ones count as holding no slots,
// because their slots are promised to others.
func (v view) sumUses(all map[pool.AllocationID]*pool.Allocation) use {
	u := use{
		slots: make(map[pool.AgentID]map[int]bool), aux: make(map[pool.AgentID]int),
		busy: make(map[pool.AgentID]bool), jobs: make(map[pool.JobID]int),
	}
	asked := make(map[pool.AllocationID]bool, len(v.decision.Preempt))
	for _, p := range v.decision.Preempt {
		asked[p.Allocation] = true
	}
	for _, a := range all {
		if a.State != pool.Pending {
			u.addAllocation(a, a.Placement, a.State == pool.Releasing || asked[a.ID])
		}
	}
	for _, s := range v.decision.Start {
		u.addAllocation(all[s.Allocation], s.Placement, false)
	}
	return u
}

func (u use) addAllocation(a *pool.Allocation, placement []pool.Share, releasing bool) {
	u.jobs[a.Job] += a.Slots
	for _, share := range placement {
		u.busy[share.Agent] = true
		if releasing {
			continue
		}
		if len(share.Slots) == 0 {
			u.aux[share.Agent]++
		}
		for _, slot := range share.Slots {
			if u.slots[share.Agent] == nil {
				u.slots[share.Agent] = make(map[int]bool)
			}
			u.slots[share.Agent][slot] = true
		}
	}
}

func (u use) describeAgent(a pool.Agent, maxAux int) elastic.Agent {
	out := elastic.Agent{ID: cloud.InstanceID(a.ID), Slots: len(a.Slots), Busy: u.busy[a.ID], Lost: a.Lost}
	if a.Draining || !a.Enabled && !a.Lost {
		return out
	}
	out.Aux = max(maxAux-u.aux[a.ID], 0)
	for _, s := range a.Slots {
		if s.Enabled && !s.Draining && !u.slots[a.ID][s.ID] {
			out.Free++
		}
	}
	return out
}

func (u use) describeGang(a *pool.Allocation, why pool.Reason) elastic.Gang {
	out := elastic.Gang{
		ID: string(a.ID), Slots: a.Slots, Single: a.SingleNode, Promised: why == pool.ForRelease,
		Job: string(a.Job), JobRoom: -1,
	}
	for _, id := range a.Exclude {
		out.Exclude = append(out.Exclude, cloud.InstanceID(id))
	}
	if a.MaxSlots > 0 {
		out.JobRoom = max(a.MaxSlots-u.jobs[a.Job], 0)
	}
	return out
}
