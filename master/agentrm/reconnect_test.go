package agentrm

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
	"github.com/det-deploy/det-deploy/master/rm"
)

// leave breaks the link and waits until the master has noticed.
func (c *cluster) leave(p *peer) {
	c.t.Helper()
	p.hangUp()
	c.until("the agent is missed", func() bool {
		for _, a := range c.Agents() {
			if a.GetId() == p.id && a.GetEnabled() {
				return false
			}
		}
		return true
	})
}

// stored waits until the record of an allocation satisfies ok.
func (c *cluster) stored(what string, ok func(allocationDoc) bool) {
	c.t.Helper()
	c.until(what, func() bool {
		docs, err := allocationDocs().All(c.t.Context(), c.store)
		if err != nil {
			c.t.Fatal(err)
		}
		return len(docs) == 1 && ok(docs[0].Value)
	})
}

func received(d allocationDoc) bool { return d.Containers[0].Received }

func TestReconnect(t *testing.T) {
	t.Parallel()
	t.Run("running containers and their log lines continue", func(t *testing.T) {
		t.Parallel()
		c := newCluster(t)
		a, _ := c.join("a", 1)
		c.submit("t", 1)
		s := a.started()
		a.reports(s, running)
		a.say(&agentv1.AgentMessage{Body: &agentv1.AgentMessage_Logs{Logs: &agentv1.Logs{
			ContainerId: s.GetContainerId(), Lines: []*agentv1.Line{{}, {}, {}},
		}}})
		a.next()
		c.leave(a)
		a, welcome := c.join("a", 1, has(s.GetContainerId(), "t.1"), has("stranger", "gone.1"))
		if diff := cmp.Diff(welcome.GetContainers(), []*agentv1.Known{
			{ContainerId: s.GetContainerId(), LogNextSeq: 3, Acked: running},
		}, protocmp.Transform()); diff != "" {
			t.Errorf("known containers, got - want +\n%s", diff)
		}
		a.reports(s, terminated, 0)
		c.await(t, "t.1 ended: exited")
	})
	t.Run("a start that was not received is sent again", func(t *testing.T) {
		t.Parallel()
		c := newCluster(t)
		a, _ := c.join("a", 1)
		c.submit("t", 1)
		first := a.asked()
		c.leave(a)
		a, _ = c.join("a", 1)
		if second := a.started(); second.GetContainerId() != first.GetContainerId() {
			t.Errorf("got container %s, want %s again", second.GetContainerId(), first.GetContainerId())
		}
	})
	t.Run("a container that was received and is not there is lost", func(t *testing.T) {
		t.Parallel()
		c := newCluster(t)
		a, _ := c.join("a", 1)
		c.submit("t", 1)
		a.reports(a.started(), running)
		c.leave(a)
		c.join("a", 1)
		c.await(t, "t.1 rank 0 TERMINATED LOST")
		c.await(t, "t.1 ended: agent_lost: agent a reconnected without the container")
	})
	t.Run("a container with a state was received, also for a master that starts again", func(t *testing.T) {
		t.Parallel()
		c := newCluster(t)
		a, welcome := c.join("a", 1)
		if !welcome.GetChangeConfirms() {
			t.Error("got a welcome without change_confirms")
		}
		c.submit("t", 1)
		a.reports(a.asked(), running)
		c.restart()
		c.join("a", 1)
		c.await(t, "t.1 ended: agent_lost: agent a reconnected without the container")
	})
	t.Run("a start that was received just before the link broke is not sent again", func(t *testing.T) {
		t.Parallel()
		c := newCluster(t)
		a, _ := c.join("a", 1)
		c.submit("t", 1)
		s := a.asked()
		c.leave(a)
		a, welcome := c.join("a", 1, has(s.GetContainerId(), "t.1"))
		if len(welcome.GetContainers()) != 1 {
			t.Errorf("got %v known, want the container", welcome.GetContainers())
		}
		a.reports(s, terminated, 0)
		a.quiet()
	})
	t.Run("a container that an agent came back with was received, also for a master that starts again", func(t *testing.T) {
		t.Parallel()
		for _, changes := range []int{0, 1} {
			c := newCluster(t)
			a, _ := c.join("a", 1)
			c.submit("t", 1)
			s := a.asked()
			c.leave(a)
			a, _ = c.join("a", 1, has(s.GetContainerId(), "t.1"))
			for range changes {
				a.reports(s, running)
			}
			c.stored("the start is received", received)
			c.restart()
			c.join("a", 1)
			c.await(t, "t.1 ended: agent_lost: agent a reconnected without the container")
		}
	})
	t.Run("an allocation that was killed meanwhile is killed on return", func(t *testing.T) {
		t.Parallel()
		c := newCluster(t)
		a, _ := c.join("a", 1)
		c.submit("t", 1)
		s := a.started()
		a.reports(s, running)
		c.leave(a)
		if err := c.Kill(t.Context(), "t.1", "killed by ann"); err != nil {
			t.Fatal(err)
		}
		a, _ = c.join("a", 1, has(s.GetContainerId(), "t.1"))
		a.killed(s)
		c.await(t, "t.1 ended: killed: killed by ann")
	})
	t.Run("an allocation that was killed before its receipt is not started", func(t *testing.T) {
		t.Parallel()
		c := newCluster(t)
		a, _ := c.join("a", 1)
		c.submit("t", 1)
		a.asked()
		c.leave(a)
		if err := c.Kill(t.Context(), "t.1", "killed by ann"); err != nil {
			t.Fatal(err)
		}
		c.join("a", 1)
		c.await(t, "t.1 rank 0 TERMINATED NOT_STARTED")
		c.await(t, "t.1 ended: killed")
	})
}

func TestALostAgent(t *testing.T) {
	t.Parallel()
	t.Run("gets no new tasks and keeps its own", func(t *testing.T) {
		t.Parallel()
		c := newCluster(t)
		a, _ := c.join("a", 2)
		c.submit("t", 1)
		s := a.started()
		c.leave(a)
		c.submit("u", 1)
		shown := c.Agents()[0]
		if shown.GetEnabled() || !shown.GetDraining() || !shown.GetLost() || len(shown.GetContainers()) != 1 {
			t.Errorf("got %v, want it disabled, draining and with its container", shown)
		}
		a, _ = c.join("a", 2, has(s.GetContainerId(), "t.1"))
		if u := a.started(); u.GetAllocationId() != "u.1" {
			t.Errorf("got %s started, want u.1", u.GetAllocationId())
		}
	})
	t.Run("is given up after the reconnect wait, with whole gangs", func(t *testing.T) {
		t.Parallel()
		c := newCluster(t, reconnectWait(300*time.Millisecond))
		a, _ := c.join("a", 1)
		b, _ := c.join("b", 1)
		c.submit("gang", 2)
		sa, sb := a.started(), b.started()
		a.reports(sa, running)
		b.reports(sb, running)
		b.hangUp()
		a.killed(sa)
		events := c.await(t, "gang.1 ended: agent_lost: agent b was lost")
		if !strings.Contains(strings.Join(events, "\n"), "rank 1 TERMINATED LOST") {
			t.Errorf("got %v, want the loss of rank 1", events)
		}
		if n := len(c.Agents()); n != 1 {
			t.Errorf("got %d agents, want 1", n)
		}
		_, welcome := c.join("b", 1, has(sb.GetContainerId(), "gang.1"))
		if len(welcome.GetContainers()) != 0 {
			t.Errorf("got %v going on, want the given up container to be killed", welcome.GetContainers())
		}
	})
	t.Run("may have started what it was sent", func(t *testing.T) {
		t.Parallel()
		c := newCluster(t, reconnectWait(200*time.Millisecond))
		a, _ := c.join("a", 1)
		c.submit("t", 1)
		a.asked()
		c.leave(a)
		c.await(t, "t.1 rank 0 TERMINATED LOST")
	})
}

func TestAgentOfAGoneMachineIsRemovedAtOnce(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a, _ := c.join("a", 1)
	c.submit("t", 1)
	a.reports(a.started(), running)
	c.Remove("a", "spot instance i-1 was interrupted")
	c.await(t, "t.1 ended: agent_lost: spot instance i-1 was interrupted")
	if n := len(c.Agents()); n != 0 {
		t.Errorf("got %d agents, want none", n)
	}
	c.Remove("a", "again")
	c.join("a", 1)
}

func TestRestart(t *testing.T) {
	t.Parallel()
	t.Run("containers are reattached", func(t *testing.T) {
		t.Parallel()
		c := newCluster(t)
		a, _ := c.join("a", 1)
		c.submit("t", 1, prefer(7))
		s := a.started()
		a.reports(s, running)
		c.stored("the start is received", received)
		c.restart()
		c.submit("t", 1, prefer(7)) // its owner does the same after a restart
		got, known := c.Allocation("t.1")
		if !known || got.Priority != 7 || len(got.Containers) != 1 || got.Waiting != "" {
			t.Errorf("got %+v, want it placed with priority 7", got)
		}
		a, welcome := c.join("a", 1, has(s.GetContainerId(), "t.1"))
		if len(welcome.GetContainers()) != 1 {
			t.Errorf("got %v going on, want the container", welcome.GetContainers())
		}
		a.reports(s, terminated, 0)
		c.await(t, "t.1 ended: exited")
	})
	t.Run("a placement that was stored and not sent is sent with the same id", func(t *testing.T) {
		t.Parallel()
		c := newCluster(t)
		a, _ := c.join("a", 1)
		c.submit("t", 1)
		first := a.asked()
		c.restart()
		a, _ = c.join("a", 1)
		if second := a.started(); second.GetContainerId() != first.GetContainerId() {
			t.Errorf("got container %s, want %s again", second.GetContainerId(), first.GetContainerId())
		}
		if n := c.count("assigned"); n != 2 {
			t.Errorf("asked what to run %d times, want 2: specs are not stored", n)
		}
	})
	t.Run("a received container that is gone is lost and not started again", func(t *testing.T) {
		t.Parallel()
		c := newCluster(t)
		a, _ := c.join("a", 1)
		c.submit("t", 1)
		a.started()
		c.stored("the start is received", received)
		c.restart()
		c.join("a", 1)
		c.await(t, "t.1 rank 0 TERMINATED LOST")
		c.await(t, "t.1 ended: agent_lost")
	})
	t.Run("an agent that does not come back is given up", func(t *testing.T) {
		t.Parallel()
		c := newCluster(t, reconnectWait(200*time.Millisecond))
		a, _ := c.join("a", 1)
		c.submit("t", 1)
		a.started()
		c.restart()
		c.await(t, "t.1 ended: agent_lost: agent a was lost")
		c.until("the agent is forgotten", func() bool {
			docs, err := agentDocs().All(t.Context(), c.store)
			return err == nil && len(docs) == 0
		})
	})
	t.Run("a kill is remembered", func(t *testing.T) {
		t.Parallel()
		c := newCluster(t)
		a, _ := c.join("a", 1)
		c.submit("t", 1)
		s := a.started()
		c.stored("the start is received", received)
		if err := c.Kill(t.Context(), "t.1", "killed by ann"); err != nil {
			t.Fatal(err)
		}
		c.stored("the kill is stored", func(d allocationDoc) bool { return d.Release != nil && d.Release.Kill })
		c.restart()
		a, _ = c.join("a", 1, has(s.GetContainerId(), "t.1"))
		a.killed(s)
		c.await(t, "t.1 ended: killed: killed by ann")
	})
	t.Run("an allocation whose pool was removed is ended", func(t *testing.T) {
		t.Parallel()
		c := newCluster(t)
		a, _ := c.join("a", 1, func(h *agentv1.Hello) { h.ResourcePool = "other" })
		c.submit("t", 1, func(q *rm.Request) { q.Pool = "other" })
		a.started()
		c.stored("the start is received", received)
		c.config.Pools = c.config.Pools[:1]
		c.restart()
		c.await(t, "t.1 ended: refused: no such resource pool")
	})
	t.Run("switches are remembered", func(t *testing.T) {
		t.Parallel()
		c := newCluster(t)
		c.join("a", 2)
		if _, err := c.SetSlot(t.Context(), "a", 1, rm.Disable); err != nil {
			t.Fatal(err)
		}
		if _, err := c.SetAgent(t.Context(), "a", rm.Drain); err != nil {
			t.Fatal(err)
		}
		c.restart()
		c.join("a", 2)
		if a := c.Agents()[0]; !a.GetDraining() || a.GetSlots()["001"].GetEnabled() {
			t.Errorf("got %v, want it draining with slot 1 disabled", a)
		}
	})
}

func TestTheSameResourceManagerMayRunAgain(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.join("a", 1)
	c.cancel()
	if err := <-c.done; err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	c.cancel = cancel
	go func() { c.done <- c.Run(ctx) }()
	c.until("agents may connect", c.servesAgents)
	a, _ := c.join("a", 1)
	c.submit("t", 1)
	a.started()
}
