package agentrm

import (
	"context"
	"time"

	"github.com/det-deploy/det-deploy/excerpt"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
)

// take is told everything an agent says after its hello. An error ends the link.
func (r *RM) take(ctx context.Context, l *link, m *agentv1.AgentMessage) error {
	switch body := m.GetBody().(type) {
	case *agentv1.AgentMessage_Received:
		return r.takeReceived(l, body.Received)
	case *agentv1.AgentMessage_Change:
		return r.takeChange(ctx, l, body.Change)
	case *agentv1.AgentMessage_Logs:
		return r.takeLogs(ctx, l, body.Logs)
	case *agentv1.AgentMessage_Notice:
		r.takeNotice(l, body.Notice)
		return nil
	case *agentv1.AgentMessage_Health:
		r.takeHealth(l, body.Health)
		return nil
	case *agentv1.AgentMessage_Hello:
		return refuseForGoodf("agent %s says hello twice", l.agent)
	default:
		return nil // a message of a later version, which this master need not know
	}
}

// whose finds a container that the agent may speak of. Nil without an error is
// one that the master knows nothing of any more.
func (r *RM) whose(l *link, container, allocation string) (*container, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.containers[rm.ContainerID(container)]
	if c == nil {
		return nil, nil //nolint:nilnil // see above
	}
	if c.agent != l.agent {
		return nil, refuseForGoodf("agent %s speaks of container %s, which is not its own", l.agent, excerpt.Of(container))
	}
	if allocation != "" && allocation != string(c.allocation.Allocation) {
		return nil, refuseForGoodf("agent %s takes container %s for one of allocation %s", l.agent, excerpt.Of(container), excerpt.Of(allocation))
	}
	return c, nil
}

// takeReceived notes that a start is on the agent's disk: from now on, an agent
// that comes back without the container has lost it.
func (r *RM) takeReceived(l *link, m *agentv1.Received) error {
	c, err := r.whose(l, m.GetContainerId(), "")
	if err != nil || c == nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.received {
		return nil
	}
	c.has()
	r.lanes.post(c.allocation.lane(), func(ctx context.Context) time.Duration {
		if r.isOver(c.allocation) {
			return 0
		}
		if err := r.save(ctx, c.allocation); err != nil {
			return r.again(ctx, "store allocation", c.allocation, err)
		}
		return 0
	})
	return nil
}

func (r *RM) takeChange(ctx context.Context, l *link, m *agentv1.Change) error {
	c, err := r.whose(l, m.GetContainerId(), m.GetAllocationId())
	if err != nil {
		return err
	}
	if _, known := apiv1.Container_State_name[int32(m.GetState())]; !known || m.GetState() == apiv1.Container_STATE_UNSPECIFIED {
		return refuseForGoodf("agent %s reports state %d of container %s, which there is not", l.agent, m.GetState(), excerpt.Of(m.GetContainerId()))
	}
	if c == nil {
		l.send(ackOf(m))
		return nil
	}
	if m.GetExit().GetSilent() {
		r.takeSilence(c, m.GetExit().GetMessage())
	}
	if m.GetExit().GetNotHere() {
		r.takeNotHere(c, m.GetExit().GetMessage())
	}
	return r.inLane(ctx, l, c.allocation.lane(), func(ctx context.Context) time.Duration {
		return r.apply(ctx, c, m)
	})
}

// takeSilence ends the whole allocation of a container that its agent ended because
// it had no answer: as if the agent had been given up, only that it came back before.
func (r *RM) takeSilence(c *container, reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.ended() || c.givenUp {
		return
	}
	r.kill(c.allocation, rm.CauseAgentLost, "agent "+string(c.agent)+": "+excerpt.Of(reason))
}

// inLane posts work for one message of an agent, and waits while too many of its
// messages are not stored yet: that is how a slow store slows its writers.
func (r *RM) inLane(ctx context.Context, l *link, lane string, w work) error {
	select {
	case l.unanswered <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	r.lanes.post(lane, func(ctx context.Context) time.Duration {
		again := w(ctx)
		if again == 0 {
			<-l.unanswered
		}
		return again
	})
	return nil
}

func (r *RM) takeLogs(ctx context.Context, l *link, m *agentv1.Logs) error {
	c, err := r.whose(l, m.GetContainerId(), m.GetAllocationId())
	if err != nil {
		return err
	}
	if c == nil {
		l.send(logAck(m.GetContainerId(), m.GetFirstSeq()+uint64(len(m.GetLines()))))
		return nil
	}
	m.AllocationId = string(c.allocation.Allocation)
	// Lines have a lane of their own, so that they do not hold up states. An
	// agent sends a container's end only when its lines are acknowledged.
	return r.inLane(ctx, l, "logs:"+string(c.id), func(ctx context.Context) time.Duration {
		next, err := r.cfg.Logs.AppendLogs(ctx, l.agent, m)
		if err != nil {
			return r.again(ctx, "store log lines", c.allocation, err)
		}
		l.send(logAck(m.GetContainerId(), next))
		return 0
	})
}

func logAck(container string, next uint64) message {
	return &agentv1.MasterMessage{Body: &agentv1.MasterMessage_LogAck{LogAck: &agentv1.LogAck{
		ContainerId: container, NextSeq: next,
	}}}
}
