package agent

import (
	"context"
	"time"

	"github.com/det-deploy/det-deploy/cloud/machine"
	"github.com/det-deploy/det-deploy/internal/wait"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
)

const (
	// noticePause is between two questions of which the first was not answered.
	noticePause = 5 * time.Second
	// lastCall is how long before its machine goes an agent asks tasks to stop by
	// itself: a master that can be reached has done so long before. lastGrace is
	// how long they then have.
	lastCall  = 25 * time.Second
	lastGrace = 15 * time.Second
)

// watchMachine passes on what the machine announces until ctx ends.
func (a *Agent) watchMachine(ctx context.Context, m Machine) {
	var after int64
	told := ""
	for ctx.Err() == nil {
		n, found, err := m.Notice(ctx, after)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			if err.Error() != told {
				told = err.Error()
				a.cfg.Log.Warn("the machine cannot be asked for notices, asking again", "err", err)
			}
			_ = wait.For(ctx, noticePause) // an ended context ends the loop
		case found:
			told, after = "", n.N
			a.cfg.Log.Warn("this machine may be interrupted", "kind", string(n.Kind), "at", n.At, "reason", n.Reason)
			a.passOn(n)
			if n.Kind == machine.Interruption {
				a.spawn(func(ctx context.Context) { a.callLast(ctx, n.At) })
			}
		}
	}
}

// passOn tells the master, now and in every later connection.
func (a *Agent) passOn(n machine.Notice) {
	m := &agentv1.Notice{Kind: agentv1.Notice_KIND_REBALANCE, AtUs: n.At.UnixMicro(), Reason: n.Reason}
	if n.Kind == machine.Interruption {
		m.Kind = agentv1.Notice_KIND_INTERRUPTION
	}
	a.mu.Lock()
	a.notice = m
	s := a.session
	a.mu.Unlock()
	if s != nil {
		s.announceNotice(m)
	}
}

// callLast asks what still runs to stop shortly before the machine goes.
func (a *Agent) callLast(ctx context.Context, at time.Time) {
	if wait.For(ctx, time.Until(at.Add(-lastCall))) != nil {
		return
	}
	for _, u := range a.listTasks() {
		u.RequestEnd(true, lastGrace)
	}
}

// announceNotice has the writer say a notice.
func (s *session) announceNotice(n *agentv1.Notice) {
	s.mu.Lock()
	s.direct = append(s.direct, &agentv1.AgentMessage{Body: &agentv1.AgentMessage_Notice{Notice: n}})
	s.mu.Unlock()
	wakeWaiter(s.more)
}
