package agentrm

import (
	"context"
	"errors"
	"runtime"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/det-deploy/det-deploy/master/agentrm/link"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
)

// mine is a placeholder in seeds for the id of the started container, which differs in each run.
const mine = "mine"

// addressed parses a message of an agent and inserts the id of its container.
func addressed(data []byte, real rm.ContainerID) *agentv1.AgentMessage {
	m := &agentv1.AgentMessage{}
	if proto.Unmarshal(data, m) != nil {
		return nil
	}
	swap := func(id *string) {
		if *id == mine {
			*id = string(real)
		}
	}
	switch b := m.GetBody().(type) {
	case *agentv1.AgentMessage_Hello:
		for _, c := range b.Hello.GetContainers() {
			swap(&c.ContainerId)
		}
	case *agentv1.AgentMessage_Received:
		swap(&b.Received.ContainerId)
	case *agentv1.AgentMessage_Change:
		swap(&b.Change.ContainerId)
	case *agentv1.AgentMessage_Logs:
		swap(&b.Logs.ContainerId)
	}
	return m
}

// For any messages in any order, the master does not crash, returns an error of bounded length, keeps no
// additional state, and continues to serve other agents.
func FuzzTake(f *testing.F) {
	add := func(messages ...*agentv1.AgentMessage) {
		all := make([][]byte, 4)
		for i, m := range messages {
			data, err := proto.Marshal(m)
			if err != nil {
				f.Fatal(err)
			}
			all[i] = data
		}
		f.Add(all[0], all[1], all[2], all[3])
	}
	hello := func(change ...func(*agentv1.Hello)) *agentv1.AgentMessage {
		h := greeting("a", 2)
		for _, c := range change {
			c(h)
		}
		return &agentv1.AgentMessage{Body: &agentv1.AgentMessage_Hello{Hello: h}}
	}
	received := &agentv1.AgentMessage{Body: &agentv1.AgentMessage_Received{Received: &agentv1.Received{ContainerId: mine}}}
	change := func(state apiv1.Container_State, at int64) *agentv1.AgentMessage {
		return &agentv1.AgentMessage{Body: &agentv1.AgentMessage_Change{Change: &agentv1.Change{
			ContainerId: mine, State: state, AtUs: at, Exit: &agentv1.Exit{Kind: agentv1.Exit_KIND_EXITED, Code: -1, Message: "\x1b"},
		}}}
	}
	logs := &agentv1.AgentMessage{Body: &agentv1.AgentMessage_Logs{Logs: &agentv1.Logs{ContainerId: mine, FirstSeq: 1<<64 - 1, Lines: []*agentv1.Line{{}}}}}
	notice := &agentv1.AgentMessage{Body: &agentv1.AgentMessage_Notice{Notice: &agentv1.Notice{Kind: agentv1.Notice_KIND_INTERRUPTION, AtUs: -1 << 63, Reason: "r"}}}
	add(hello(), received, change(running, 1), change(terminated, 2))
	add(hello(has(mine, "t.1")), change(terminated, 1<<62), change(running, -1<<63), logs)
	add(hello(), notice, received, change(terminated, 1<<63-1))
	add(hello(), hello(), logs, notice)
	add(hello(func(h *agentv1.Hello) { h.AgentId, h.ResourcePool = "b", "other" }), received, logs, change(99, 1))
	add(received)
	f.Fuzz(func(t *testing.T, first, second, third, fourth []byte) {
		c := newCluster(t)
		c.door = func(p JoinProof) (Identity, error) {
			if p.Agent != "a" && p.Agent != "b" {
				return Identity{}, &link.Refused{Reason: "not you"}
			}
			return Identity{Agent: p.Agent}, nil
		}
		c.submit("t", 2)
		before := runtime.NumGoroutine()
		c.converseAs(nil, second, third, fourth)
		c.converseAs(first, fourth, third, second)
		c.kept(2, 1)
		p, _ := c.join("b", 0)
		defer p.hangUp()
		// The cluster may have started some goroutines after the count before.
		if now := runtime.NumGoroutine(); now > before+100 {
			t.Errorf("%d goroutines of %d before", now, before)
		}
	})
}

// converseAs connects an agent that sends the first message and the others, and disconnects. If first is
// not a hello, a valid one is sent instead; if it is empty, the waiting task is started on the agent.
func (c *cluster) converseAs(first []byte, messages ...[]byte) {
	c.t.Helper()
	ctx, cancel := context.WithCancelCause(c.t.Context())
	defer cancel(nil)
	limits := c.state.cfg.Limits
	limits.Queue = 100
	l := link.New("192.0.2.1", limits, cancel)
	h := addressed(first, c.started()).GetHello()
	if h == nil {
		h = greeting("a", 2)
	}
	if err := c.connections.admitAgent(ctx, l, h); err != nil {
		c.answered(err)
		return
	}
	defer c.roster.disconnectAgent(l)
	if len(first) == 0 {
		c.until("what waits is started", func() bool { return c.started() != "" })
	}
	for _, data := range messages {
		m := addressed(data, c.started())
		if m == nil {
			continue
		}
		if err := c.connections.inbox.handleMessage(ctx, l, m); err != nil {
			c.answered(err)
			break
		}
	}
	for range limits.Unanswered { // until all messages have been stored
		if err := l.AwaitAnswers(ctx); err != nil {
			c.t.Error(err)
		}
	}
	if ctx.Err() != nil {
		c.t.Errorf("more than %d messages are queued for an agent that sent %d: %v", limits.Queue, len(messages), context.Cause(ctx))
	}
}

// answered checks the refusal that an agent receives.
func (c *cluster) answered(err error) {
	c.t.Helper()
	if refused, ours := errors.AsType[*link.Refused](err); !ours || len(refused.Reason) > 1024 {
		c.t.Errorf("got %.2000q, want a short refusal", err)
	}
}

// started returns the id of the started container, if any.
func (c *cluster) started() rm.ContainerID {
	c.state.mu.Lock()
	defer c.state.mu.Unlock()
	for id := range c.state.containers {
		return id
	}
	return ""
}

// kept fails the test if the master has more agents and containers than given.
func (c *cluster) kept(agents, containers int) {
	c.t.Helper()
	c.state.mu.Lock()
	defer c.state.mu.Unlock()
	if len(c.state.agents) > agents || len(c.state.containers) > containers || len(c.roster.arriving) > 0 {
		c.t.Errorf("got %d agents, %d containers and %d arriving, want at most %d, %d and none",
			len(c.state.agents), len(c.state.containers), len(c.roster.arriving), agents, containers)
	}
}
