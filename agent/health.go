package agent

import (
	"context"
	"time"

	"github.com/det-deploy/det-deploy/agent/health"
	"github.com/det-deploy/det-deploy/internal/wait"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
)

// startFailed records a failed container start. If the cause is a lack of the machine, such as a
// full disk, the agent rejects new containers until a probe succeeds.
func (a *Agent) startFailed(err error) {
	l := health.LackOf(err)
	if l == "" {
		return
	}
	if a.setHealth(err, func(s health.State) health.State { return s.Failed(l, health.Cause(l, err), time.Now()) }) {
		wakeWaiter(a.unwell)
	}
}

func (a *Agent) startWorked() { a.setHealth(nil, health.State.Started) }

// setHealth updates the health of the machine, and reports a change to the master and the log. Only
// the log gets the full error.
func (a *Agent) setHealth(err error, change func(health.State) health.State) (changed bool) {
	a.mu.Lock()
	was := a.health
	a.health = change(was)
	now, s := a.health, a.session
	changed = now.Lack != was.Lack
	if changed && s != nil {
		s.announceHealth(healthOf(now)) // under the lock, to keep the order
	}
	a.mu.Unlock()
	switch {
	case !changed:
	case now.Sick():
		a.cfg.Log.Warn("this machine cannot start containers; rejecting new ones", "lack", string(now.Lack), "err", err)
	default:
		a.cfg.Log.Info("this machine can start containers again", "was", string(was.Lack), "took", now.Since.Sub(was.Since))
	}
	return changed
}

// watchHealth probes an unhealthy machine until it is healthy, repeatedly until ctx ends.
func (a *Agent) watchHealth(ctx context.Context) {
	probe := health.Probe{Dir: a.cfg.Settings.DataDir}
	if engine, ok := a.runtime.(interface{ Answers(context.Context) error }); ok {
		probe.Engine = engine.Answers
	}
	for ctx.Err() == nil {
		s := a.healthState()
		if !s.Sick() {
			select {
			case <-ctx.Done():
			case <-a.unwell:
			}
			continue
		}
		if wait.For(ctx, time.Until(s.Next)) != nil {
			return
		}
		lack, err := probe.Run(ctx)
		if ctx.Err() != nil {
			return
		}
		a.setHealth(err, func(s health.State) health.State { return s.Probed(lack, causeOf(lack, err), time.Now()) })
	}
}

// causeOf returns the cause of a failed probe, or "" if the probe succeeded.
func causeOf(l health.Lack, err error) string {
	if l == "" {
		return ""
	}
	return health.Cause(l, err)
}

func (a *Agent) healthState() health.State {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.health
}

// healthNow returns the health of an unhealthy machine, or nil.
func (a *Agent) healthNow() *agentv1.Health {
	s := a.healthState()
	if !s.Sick() {
		return nil
	}
	return healthOf(s)
}

func healthOf(s health.State) *agentv1.Health {
	if !s.Sick() {
		return &agentv1.Health{}
	}
	return &agentv1.Health{Lack: lackOf(s.Lack), Reason: s.Reason, SinceUs: s.Since.UnixMicro()}
}

func lackOf(l health.Lack) agentv1.Health_Lack {
	switch l {
	case health.Disk:
		return agentv1.Health_LACK_DISK
	case health.Descriptors:
		return agentv1.Health_LACK_DESCRIPTORS
	case health.Memory:
		return agentv1.Health_LACK_MEMORY
	case health.Processes:
		return agentv1.Health_LACK_PROCESSES
	case health.Engine:
		return agentv1.Health_LACK_ENGINE
	}
	return agentv1.Health_LACK_UNSPECIFIED
}

// announceHealth sends the health to the master.
func (s *session) announceHealth(h *agentv1.Health) {
	s.mu.Lock()
	s.direct = append(s.direct, &agentv1.AgentMessage{Body: &agentv1.AgentMessage_Health{Health: h}})
	s.mu.Unlock()
	wakeWaiter(s.more)
}
