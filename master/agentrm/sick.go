package agentrm

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/det-deploy/det-deploy/excerpt"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/pool"
	"github.com/det-deploy/det-deploy/master/rm"
)

// Sickness is what keeps an agent from starting containers. It keeps what it runs and
// gets nothing new until the agent says that it is well. It is not stored: the agent
// says it in every hello.
type Sickness struct {
	// Lack is what its machine has run out of: one word of few.
	Lack string
	// Reason is the agent's word for it.
	Reason string
	Since  time.Time
}

// sicknessOf is nil for an agent that is well.
func sicknessOf(h *agentv1.Health) *Sickness {
	if h.GetLack() == agentv1.Health_LACK_UNSPECIFIED {
		return nil
	}
	return &Sickness{
		Lack: lackOf(h.GetLack()), Reason: excerpt.Of(h.GetReason()), Since: agentv1.Instant(h.GetSinceUs(), time.Now()),
	}
}

// lackOf is a lack as people and metrics name it; later agents may know more of them.
func lackOf(l agentv1.Health_Lack) string {
	if _, known := agentv1.Health_Lack_name[int32(l)]; !known {
		return "other"
	}
	return strings.ToLower(strings.TrimPrefix(l.String(), "LACK_"))
}

// takeHealth notes whether an agent can start containers.
func (r *RM) takeHealth(l *link, h *agentv1.Health) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := r.agents[l.agent]
	if a == nil || a.link != l {
		return
	}
	r.setSickness(a, sicknessOf(h))
	r.stir()
}

// setSickness says in the log what has changed.
func (r *RM) setSickness(a *agent, now *Sickness) {
	was := a.sick
	a.sick = now
	switch {
	case now != nil && (was == nil || was.Lack != now.Lack):
		r.cfg.Log.Warn("agent cannot start containers; it gets no tasks", "agent_id", a.id, "pool", a.pool, "lack", now.Lack, "reason", now.Reason)
	case now == nil && was != nil:
		r.cfg.Log.Info("agent can start containers again", "agent_id", a.id, "pool", a.pool, "was", was.Lack)
	}
}

// takeNotHere ends the whole allocation of a container that its agent could not start
// for what its machine lacks: its owner has it queued again.
func (r *RM) takeNotHere(c *container, reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.ended() || c.givenUp {
		return
	}
	r.kill(c.allocation, rm.CauseNotHere, "agent "+string(c.agent)+": "+excerpt.Of(reason))
}

func (s *Sickness) api() *apiv1.AgentSickness {
	if s == nil {
		return nil
	}
	return &apiv1.AgentSickness{Lack: s.Lack, Reason: s.Reason, Since: timestamppb.New(s.Since)}
}

// held reports whether a waiting allocation is not to be placed yet.
func (a *allocation) held(now time.Time) bool { return a.phase == Queued && a.NotBefore.After(now) }

// avoidFor is how long a task avoids the agents that could not start it, from when it may
// be placed again: by then one that is not known to be sick is as good as another.
const avoidFor = time.Minute

// avoidsUntil is when the allocation takes any agent again.
func (a *allocation) avoidsUntil() time.Time {
	if len(a.Avoid) == 0 {
		return time.Time{}
	}
	return a.NotBefore.Add(avoidFor)
}

// changesAt is when time alone changes where a waiting allocation may be placed; zero is
// never.
func (a *allocation) changesAt(now time.Time) time.Time {
	switch {
	case a.held(now):
		return a.NotBefore
	case a.phase == Queued && now.Before(a.avoidsUntil()):
		return a.avoidsUntil()
	}
	return time.Time{}
}

// elsewhere answers whether an allocation fits on the agents of a pool that take tasks
// now, without those that could not start it. Agents that others occupy count: for a
// while it waits for them.
func (r *RM) elsewhere(p Pool) func(*allocation) bool {
	var takers []*agent
	for _, a := range r.agents {
		if a.pool == p.Name && a.presence == Connected && a.state == rm.Enable && !a.leaves() {
			takers = append(takers, a)
		}
	}
	return func(q *allocation) bool {
		c := pool.Capacity{MaxAux: p.MaxAux}
		for _, a := range takers {
			if !slices.Contains(q.Avoid, a.id) {
				c.Shapes = append(c.Shapes, pool.Shape{Slots: len(a.devices), Count: 1})
			}
		}
		return pool.Fits(c, q.Slots, q.SingleNode)
	}
}

// mostNamed is how many sick agents a task's reason names.
const mostNamed = 3

// describeSick says for a task that waits which agents of its pool are sick; empty for
// none.
func (r *RM) describeSick(name string) string {
	var sick []*agent
	for _, a := range r.agents {
		if a.pool == name && a.sick != nil && a.presence == Connected {
			sick = append(sick, a)
		}
	}
	if len(sick) == 0 {
		return ""
	}
	slices.SortFunc(sick, func(x, y *agent) int { return cmp.Compare(x.id, y.id) })
	var names []string
	for _, a := range sick[:min(mostNamed, len(sick))] {
		names = append(names, fmt.Sprintf("%s (%s: %s)", a.id, a.sick.Lack, a.sick.Reason))
	}
	text := "agents that cannot start containers now: " + strings.Join(names, ", ")
	if more := len(sick) - len(names); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
