package agentrm

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
	"github.com/det-deploy/det-deploy/master/token"
)

// counted returns a gate function that counts the admitted agents. While hold is not nil, it blocks
// their acceptance until hold is closed.
func counted(in *atomic.Int32, hold chan struct{}) func(JoinProof) (Identity, error) {
	return func(p JoinProof) (Identity, error) {
		return Identity{Agent: p.Agent, Accept: func(ctx context.Context) (token.Text, error) {
			in.Add(1)
			if hold != nil {
				select {
				case <-hold:
				case <-ctx.Done():
				}
			}
			return "c", nil
		}}, nil
	}
}

func (c *cluster) knock(id string, change ...func(*agentv1.Hello)) *peer {
	c.t.Helper()
	h := greeting(id, 1)
	for _, f := range change {
		f(h)
	}
	p := c.dial()
	p.say(&agentv1.AgentMessage{Body: &agentv1.AgentMessage_Hello{Hello: h}})
	return p
}

func TestRefusedTwinGetsNoCredential(t *testing.T) {
	t.Parallel()
	t.Run("while the agent is connected", func(t *testing.T) {
		t.Parallel()
		c := newCluster(t)
		var in atomic.Int32
		c.door = counted(&in, nil)
		c.join("a", 1)
		if why := c.knock("a").refused(); !strings.Contains(why.GetReason(), "already connected") || why.GetFinal() {
			t.Errorf("got %v, want an error because the agent is connected", why)
		}
		if got := in.Load(); got != 1 {
			t.Errorf("got %d admitted, want 1", got)
		}
	})
	t.Run("while the agent connects", func(t *testing.T) {
		t.Parallel()
		c := newCluster(t)
		var in atomic.Int32
		hold := make(chan struct{})
		c.door = counted(&in, hold)
		first := c.knock("a")
		c.until("the first is at the door", func() bool { return in.Load() == 1 })
		if why := c.knock("a").refused(); !strings.Contains(why.GetReason(), "already connecting") {
			t.Errorf("got %v, want an error because another agent is connecting", why)
		}
		close(hold)
		if m := first.next(); m.GetWelcome() == nil || in.Load() != 1 {
			t.Errorf("got %v with %d admitted, want a welcome for the first only", m, in.Load())
		}
	})
	t.Run("and its place is free again after a failure", func(t *testing.T) {
		t.Parallel()
		c := newCluster(t)
		c.door = func(p JoinProof) (Identity, error) {
			return Identity{Agent: p.Agent, Accept: func(context.Context) (token.Text, error) { return "", errInjected }}, nil
		}
		c.knock("a").refused()
		c.mu.Lock()
		c.door = nil
		c.mu.Unlock()
		c.join("a", 1)
	})
}

func TestRevokedAgentIsDisconnectedAtOnce(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a, _ := c.join("a", 1)
	c.submit("t", 1)
	a.reports(a.started(), running)
	c.Expel("a", "agent a was revoked by ann")
	if got := len(c.Agents()); got != 0 {
		t.Errorf("got %d agents, want none", got)
	}
	if why := a.refused(); !why.GetFinal() || !why.GetRevoked() {
		t.Errorf("got %v, want it final and revoked", why)
	}
	c.await(t, "t.1 ended: agent_lost: agent a was revoked by ann")
}

func TestAgentRevokedDuringAdmissionIsRefused(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	var in atomic.Int32
	hold := make(chan struct{})
	c.door = counted(&in, hold)
	a := c.knock("a")
	c.until("it is at the door", func() bool { return in.Load() == 1 })
	c.Expel("a", "it was revoked")
	close(hold)
	if why := a.refused(); !strings.Contains(why.GetReason(), "revoked") || len(c.Agents()) != 0 {
		t.Errorf("got %v and %d agents, want it refused", why, len(c.Agents()))
	}
}
