package overview

import (
	"fmt"
	"slices"
	"time"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// problem is something that does not work, with the page that shows it.
type problem struct{ Text, Href string }

const (
	// failedFor is how long a failed experiment is a problem.
	failedFor = 24 * time.Hour
	// mostProblems is the number of problems that are shown.
	mostProblems = 20
)

// problems returns a sentence for each pool, agent and recent experiment that does not work.
func problems(in facts, now time.Time) []problem {
	var out []problem
	add := func(href, format string, args ...any) { out = append(out, problem{fmt.Sprintf(format, args...), href}) }
	for _, p := range in.pools {
		for _, text := range p.GetMachines().GetProblems() {
			add("", "Pool %s: %s", p.GetName(), text)
		}
		for _, r := range p.GetMachines().GetRefusals() {
			add("", "Pool %s: %s", p.GetName(), r.GetReason())
		}
		if p.GetSlotsAvailable() == 0 && p.GetStats().GetQueuedCount() > 0 && p.GetMachines() == nil {
			add("", "Pool %s has no slots, and %d jobs wait for it", p.GetName(), p.GetStats().GetQueuedCount())
		}
	}
	agents := slices.Clone(in.agents)
	slices.SortFunc(agents, func(a, b *apiv1.Agent) int { return cmpText(a.GetId(), b.GetId()) })
	for _, a := range agents {
		switch {
		case a.GetLost():
			add("", "Agent %s is not connected", a.GetId())
		case a.GetSick() != nil:
			add("", "Agent %s cannot start containers: %s", a.GetId(), a.GetSick().GetReason())
		case a.GetNotIsolated() != "" && !a.GetTrustsUsers():
			add("", "Agent %s runs only tasks of administrators: %s", a.GetId(), a.GetNotIsolated())
		}
	}
	for _, x := range in.failed {
		if at := x.GetEndTime(); at != nil && now.Sub(at.AsTime()) < failedFor {
			add(experimentPath(x.GetId()), "Experiment %d (%s) of %s failed: %s", x.GetId(), x.GetName(), x.GetUsername(), x.GetReason())
		}
	}
	if len(out) > mostProblems {
		more := len(out) - mostProblems
		out = append(out[:mostProblems], problem{Text: fmt.Sprintf("and %d others", more)})
	}
	return out
}
