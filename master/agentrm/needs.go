package agentrm

import (
	"fmt"
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/internal/excerpt"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/pool"
	"github.com/det-deploy/det-deploy/master/rm"
)

// needs are the needs of a task that not every agent satisfies.
type needs struct{ isolation, fixedPaths bool }

// everyNeed returns all combinations of needs, except for the empty one.
func everyNeed() []needs {
	return []needs{{isolation: true}, {fixedPaths: true}, {isolation: true, fixedPaths: true}}
}

func needsOf(q rm.Request) needs { return needs{isolation: !q.Trusted, fixedPaths: q.FixedPaths} }

// restrictions are the reasons why an agent cannot run some tasks. An empty reason restricts nothing;
// agents of earlier versions send none.
type restrictions struct {
	// notIsolated restricts nothing if trustsUsers is set.
	notIsolated  string
	trustsUsers  bool
	noFixedPaths string
}

// longestReason is the maximum length of an agent's reason, in characters.
const longestReason = 400

func restrictionsOf(h *agentv1.Hello) restrictions {
	return restrictions{
		notIsolated:  excerpt.UpTo(h.GetNotIsolated(), longestReason),
		trustsUsers:  h.GetTrustsUsers(),
		noFixedPaths: excerpt.UpTo(h.GetNoFixedPaths(), longestReason),
	}
}

// refuse returns the reason why tasks with these needs cannot run under the restrictions, or "".
func (r restrictions) refuse(n needs) string {
	switch {
	case n.isolation && r.notIsolated != "" && !r.trustsUsers:
		return apiv1.OnlyAdministrators(r.notIsolated)
	case n.fixedPaths && r.noFixedPaths != "":
		return "no trials run there, because files of tasks are not at fixed paths: " + r.noFixedPaths
	}
	return ""
}

// forAbleAgent waits for an agent that satisfies the task's needs.
const forAbleAgent pool.Reason = "no agent of the pool can run the task"

// division classifies the agents of a pool by whether they can run tasks of one kind of needs.
type division struct {
	// refusing are the agents that cannot run them, and named are the first of these with their reasons.
	refusing []pool.AgentID
	named    []string
	// shapes are the shapes of the other agents.
	shapes []pool.Shape
}

func (d *division) addAgent(a *agent, why string) {
	if why != "" {
		d.refusing = append(d.refusing, pool.AgentID(a.id))
		if len(d.named) < mostNamed {
			d.named = append(d.named, fmt.Sprintf("%s (%s)", a.id, why))
		}
		return
	}
	at := slices.IndexFunc(d.shapes, func(s pool.Shape) bool { return s.Slots == len(a.devices) })
	if at < 0 {
		at, d.shapes = len(d.shapes), append(d.shapes, pool.Shape{Slots: len(a.devices)})
	}
	d.shapes[at].Count++
}

// hasRoom reports whether an allocation may ever be placed on the agents that can run it, or on machines
// that are launched for them.
func (d *division) hasRoom(q rm.Request, maxAux int, launched []pool.Shape) bool {
	c := pool.Capacity{MaxAux: maxAux, Shapes: slices.Concat(d.shapes, launched)}
	return len(c.Shapes) > 0 && pool.Fits(c, q.Slots, q.SingleNode)
}

// divisionOf returns the division of a pool's agents for an allocation, or nil if all can run it.
func (s *state) divisionOf(l *lineup, pool string, q rm.Request) *division {
	n := needsOf(q)
	d := l.divisions[n]
	if d == nil || len(d.refusing) == 0 && s.launched[pool].refuse(n) == "" {
		return nil
	}
	return d
}

// describeRefusing returns, for a waiting task, a text that names the agents of its pool that cannot run
// it, or "".
func (s *state) describeRefusing(a *allocation) string {
	l := s.lineups[a.Pool]
	if l == nil {
		return ""
	}
	d := s.divisionOf(l, a.Pool, a.Request)
	switch {
	case d == nil:
		return ""
	case len(d.refusing) == 0:
		return "machines that the pool launches cannot run it: " + s.launched[a.Pool].refuse(needsOf(a.Request))
	}
	return "agents that cannot run it: " + nameFirst(d.named, len(d.refusing))
}

// nameFirst formats the first of n agents.
func nameFirst(named []string, n int) string {
	text := strings.Join(named, ", ")
	if more := n - len(named); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// dropVainLaunches removes from a decision the waiting allocations for which no machines should be
// launched, because the machine that was launched last cannot run them.
func (s *state) dropVainLaunches(p Pool, d pool.Decision) pool.Decision {
	s.mu.Lock()
	defer s.mu.Unlock()
	machines := s.launched[p.Name]
	if machines == (restrictions{}) {
		return d
	}
	d.Waiting = slices.DeleteFunc(d.Waiting, func(w pool.Waiting) bool {
		a := s.allocations[rm.AllocationID(w.Allocation)]
		return a != nil && machines.refuse(needsOf(a.Request)) != ""
	})
	return d
}
