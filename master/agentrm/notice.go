package agentrm

import (
	"time"

	"github.com/det-deploy/det-deploy/excerpt"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
	"github.com/det-deploy/det-deploy/master/rm"
)

// NoticeKind is what a machine's platform announces.
type NoticeKind string

// The kinds of notices.
const (
	// Interruption is a machine that will be gone at the notice's time.
	Interruption NoticeKind = "interruption"
	// Rebalance is a machine that is likelier to be taken back than others.
	Rebalance NoticeKind = "rebalance"
)

// Notice is a platform's word that it may take a machine back.
type Notice struct {
	Kind NoticeKind
	// At is when: of an interruption when the machine will be gone.
	At time.Time
	// Reason is the platform's words.
	Reason string
}

// farewell is what is left before a machine goes when its tasks must have ended,
// so that their last lines and their ends still reach the master.
const farewell = 10 * time.Second

// because is a notice as the reason of what ends through it.
func (n Notice) because(id rm.AgentID) string {
	text := "machine " + string(id) + " will be interrupted by its cloud at " + n.At.UTC().Format(time.RFC3339)
	if n.Reason != "" {
		text += " (" + n.Reason + ")"
	}
	return text
}

// takeNotice drains an agent whose machine may go. It gets nothing new; when the
// machine will go, what runs there is asked to save itself and stop in time.
func (r *RM) takeNotice(l *link, m *agentv1.Notice) {
	n := Notice{Kind: Rebalance, At: agentv1.Instant(m.GetAtUs(), time.Now()), Reason: excerpt.Of(m.GetReason())}
	if m.GetKind() == agentv1.Notice_KIND_INTERRUPTION {
		n.Kind = Interruption
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	a := r.agents[l.agent]
	if a == nil || a.link != l {
		return
	}
	if a.notice != nil && (*a.notice == n || a.notice.Kind == Interruption && n.Kind == Rebalance) {
		return
	}
	r.cfg.Log.Info("instance may be interrupted", "agent_id", a.id, "pool", a.pool, "kind", n.Kind, "at", n.At, "reason", n.Reason)
	a.notice = &n
	if n.Kind == Interruption {
		r.evacuate(a, n, time.Now())
	}
	r.cfg.Noticed(a.id, n)
	r.stir()
}

// evacuate asks what runs on an agent to stop before its machine goes.
func (r *RM) evacuate(a *agent, n Notice, now time.Time) {
	for _, c := range a.containers {
		by := now.Add(c.allocation.PreemptionTimeout)
		if last := n.At.Add(-farewell); last.Before(by) {
			by = last
		}
		r.letGo(c.allocation, release{Cause: rm.CauseAgentLost, Reason: n.because(a.id), By: later(by, now)})
	}
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
