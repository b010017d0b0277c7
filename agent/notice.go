package agent

import (
	"context"
	"time"

	"github.com/det-deploy/det-deploy/cloud/machine"
	"github.com/det-deploy/det-deploy/internal/wait"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
)

const (
	// noticePause is the delay after a failed query for notices.
	noticePause = 5 * time.Second
	// The agent asks tasks to stop lastCall before the machine is interrupted, with a grace period
	// of lastGrace. A reachable master has done so long before.
	lastCall  = 25 * time.Second
	lastGrace = 15 * time.Second
)

// watchMachine forwards the machine's notices to the master until ctx ends.
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
				a.cfg.Log.Warn("cannot get interruption notices; retrying", "err", err)
			}
			_ = wait.For(ctx, noticePause) // the loop ends when ctx is canceled
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

// passOn sends a notice to the master, now and after each reconnect.
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

// callLast asks the remaining tasks to stop shortly before the machine is interrupted.
func (a *Agent) callLast(ctx context.Context, at time.Time) {
	if wait.For(ctx, time.Until(at.Add(-lastCall))) != nil {
		return
	}
	for _, u := range a.listTasks() {
		u.RequestEnd(true, lastGrace)
	}
}

// announceNotice sends a notice to the master.
func (s *session) announceNotice(n *agentv1.Notice) {
	s.mu.Lock()
	s.direct = append(s.direct, &agentv1.AgentMessage{Body: &agentv1.AgentMessage_Notice{Notice: n}})
	s.mu.Unlock()
	wakeWaiter(s.more)
}
