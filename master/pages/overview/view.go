package overview

import (
	"cmp"
	"fmt"
	"slices"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// facts are the answers of the API.
type facts struct {
	pools   []*apiv1.ResourcePool
	agents  []*apiv1.Agent
	jobs    []*apiv1.Job
	running []*apiv1.Experiment
}

// view is the data of the template.
type view struct {
	Problems []string
	Pools    []pool
	// Queued are the first jobs that wait, and QueuedTotal is the number of all.
	Queued      []*apiv1.Job
	QueuedTotal int
	Running     []*apiv1.Experiment
}

// pool is a row of the table of pools.
type pool struct {
	*apiv1.ResourcePool

	Free int32
}

func newView(in facts) view {
	v := view{Running: in.running}
	for _, p := range in.pools {
		v.Pools = append(v.Pools, pool{p, max(0, p.GetSlotsAvailable()-p.GetSlotsUsed())})
	}
	slices.SortFunc(v.Pools, func(a, b pool) int { return cmp.Compare(a.GetName(), b.GetName()) })
	for _, j := range in.jobs {
		if j.GetSummary().GetState() != apiv1.Job_STATE_QUEUED {
			continue
		}
		if v.QueuedTotal++; v.QueuedTotal <= mostShown {
			v.Queued = append(v.Queued, j)
		}
	}
	v.Problems = problems(in)
	return v
}

// problems returns a sentence for each pool and agent that does not work.
func problems(in facts) []string {
	var out []string
	for _, p := range in.pools {
		for _, text := range p.GetMachines().GetProblems() {
			out = append(out, fmt.Sprintf("Pool %s: %s", p.GetName(), text))
		}
		for _, r := range p.GetMachines().GetRefusals() {
			out = append(out, fmt.Sprintf("Pool %s cannot launch %s in %s: %s", p.GetName(), r.GetInstanceType(), r.GetZone(), r.GetReason()))
		}
	}
	for _, a := range in.agents {
		switch {
		case a.GetLost():
			out = append(out, fmt.Sprintf("Agent %s is not connected.", a.GetId()))
		case a.GetSick() != nil:
			out = append(out, fmt.Sprintf("Agent %s cannot start containers: %s", a.GetId(), a.GetSick().GetReason()))
		}
	}
	return out
}
