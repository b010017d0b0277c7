package agentrm

import (
	"context"
	"time"

	"github.com/det-deploy/det-deploy/internal/excerpt"
	"github.com/det-deploy/det-deploy/master/agentrm/link"
	"github.com/det-deploy/det-deploy/master/agentrm/workqueue"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
)

// inbox handles the messages of agents after their hello. It takes state.mu for lookups; writes are done
// in lanes, and acknowledged once they are stored.
type inbox struct {
	*state
	records *records
	runner  *runner
	roster  *roster
}

func ackOf(change *agentv1.Change) link.Message {
	return &agentv1.MasterMessage{Body: &agentv1.MasterMessage_Ack{Ack: &agentv1.Ack{
		ContainerId: change.GetContainerId(), State: change.GetState(),
	}}}
}

// handleMessage handles an agent's message after its hello. An error ends the link.
func (in *inbox) handleMessage(ctx context.Context, l *link.Link, m *agentv1.AgentMessage) error {
	switch body := m.GetBody().(type) {
	case *agentv1.AgentMessage_Received:
		return in.handleReceived(l, body.Received)
	case *agentv1.AgentMessage_Change:
		return in.handleChange(ctx, l, body.Change)
	case *agentv1.AgentMessage_Logs:
		return in.handleLogs(ctx, l, body.Logs)
	case *agentv1.AgentMessage_Notice:
		in.roster.handleNotice(l, body.Notice)
		return nil
	case *agentv1.AgentMessage_Health:
		in.roster.handleHealth(l, body.Health)
		return nil
	case *agentv1.AgentMessage_StreamFailed:
		in.streams.Fail(l.Agent, body.StreamFailed)
		return nil
	case *agentv1.AgentMessage_Hello:
		return link.Final("agent %s sent a second hello", l.Agent)
	default:
		return nil // a message of a later version, which is safe to ignore
	}
}

// findReported returns the container that an agent's message refers to. It returns nil without an error
// if the container no longer exists, and an error if it belongs to another agent or allocation.
func (in *inbox) findReported(l *link.Link, container, allocation string) (*container, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	c := in.containers[rm.ContainerID(container)]
	if c == nil {
		return nil, nil //nolint:nilnil // see above
	}
	if c.agent != l.Agent {
		return nil, link.Final("agent %s reports container %s of another agent", l.Agent, excerpt.Of(container))
	}
	if allocation != "" && allocation != string(c.allocation.Allocation) {
		return nil, link.Final("agent %s reports container %s for the wrong allocation %s", l.Agent, excerpt.Of(container), excerpt.Of(allocation))
	}
	return c, nil
}

// handleReceived records that a start is on the agent's disk: if the agent comes back without the
// container from now on, the container is lost.
func (in *inbox) handleReceived(l *link.Link, m *agentv1.Received) error {
	c, err := in.findReported(l, m.GetContainerId(), "")
	if err != nil || c == nil {
		return err
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.runner.noteReceived(c)
	return nil
}

func (in *inbox) handleChange(ctx context.Context, l *link.Link, m *agentv1.Change) error {
	c, err := in.findReported(l, m.GetContainerId(), m.GetAllocationId())
	if err != nil {
		return err
	}
	if _, known := apiv1.Container_State_name[int32(m.GetState())]; !known || m.GetState() == apiv1.Container_STATE_UNSPECIFIED {
		return link.Final("agent %s reports unknown state %d of container %s", l.Agent, m.GetState(), excerpt.Of(m.GetContainerId()))
	}
	if c == nil {
		l.Send(ackOf(m))
		return nil
	}
	if m.GetExit().GetSilent() {
		in.handleSilence(c, m.GetExit().GetMessage())
	}
	if m.GetExit().GetNotHere() {
		in.handleNotHere(c, m.GetExit().GetMessage())
	}
	if err := l.AwaitAnswers(ctx); err != nil {
		return err
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.runner.addReport(report{container: c, change: m, done: l.Answered})
	return nil
}

// handleSilence ends the whole allocation of a container that its agent ended because the master was out
// of reach. The effect is the same as if the agent had been given up, although it came back before that.
func (in *inbox) handleSilence(c *container, reason string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if c.hasEnded() || c.givenUp {
		return
	}
	in.runner.killAllocation(c.allocation, rm.CauseAgentLost, "agent "+string(c.agent)+": "+excerpt.Of(reason))
}

// postMessage queues the handling of an agent's message in a lane.
func (in *inbox) postMessage(ctx context.Context, l *link.Link, lane string, w workqueue.Work) error {
	if err := l.AwaitAnswers(ctx); err != nil {
		return err
	}
	in.work.Add(lane, func(ctx context.Context) time.Duration {
		again := w(ctx)
		if again == 0 {
			l.Answered()
		}
		return again
	})
	return nil
}

func (in *inbox) handleLogs(ctx context.Context, l *link.Link, m *agentv1.Logs) error {
	c, err := in.findReported(l, m.GetContainerId(), m.GetAllocationId())
	if err != nil {
		return err
	}
	if c == nil {
		l.Send(logAck(m.GetContainerId(), m.GetFirstSeq()+uint64(len(m.GetLines()))))
		return nil
	}
	m.AllocationId = string(c.allocation.Allocation)
	// Log lines have a separate lane, so that they do not delay states. An agent sends a container's end
	// only after its lines are acknowledged.
	return in.postMessage(ctx, l, "logs:"+string(c.id), func(ctx context.Context) time.Duration {
		next, err := in.cfg.Logs.AppendLogs(ctx, l.Agent, m)
		if err != nil {
			return in.runner.logRetry(ctx, "store log lines", c.allocation, err)
		}
		l.Send(logAck(m.GetContainerId(), next))
		return 0
	})
}

func logAck(container string, next uint64) link.Message {
	return &agentv1.MasterMessage{Body: &agentv1.MasterMessage_LogAck{LogAck: &agentv1.LogAck{
		ContainerId: container, NextSeq: next,
	}}}
}

// handleNotHere ends the whole allocation of a container that its agent could not start because its
// machine lacks something. Its owner requeues it.
func (in *inbox) handleNotHere(c *container, reason string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if c.hasEnded() || c.givenUp {
		return
	}
	in.runner.killAllocation(c.allocation, rm.CauseNotHere, "agent "+string(c.agent)+": "+excerpt.Of(reason))
}
