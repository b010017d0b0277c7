package agentrm

import (
	"strings"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/pool"
	"github.com/det-deploy/det-deploy/master/rm"
)

func full() *agentv1.Health {
	return &agentv1.Health{Lack: agentv1.Health_LACK_DISK, Reason: "no space left on device", SinceUs: 1}
}

func (p *peer) feels(h *agentv1.Health) {
	p.t.Helper()
	p.say(&agentv1.AgentMessage{Body: &agentv1.AgentMessage_Health{Health: h}})
}

// notHere reports the end of a container for which there was no room.
func (p *peer) notHere(s *agentv1.Start) {
	p.t.Helper()
	p.say(&agentv1.AgentMessage{Body: &agentv1.AgentMessage_Change{Change: &agentv1.Change{
		ContainerId: s.GetContainerId(), AllocationId: s.GetAllocationId(), State: terminated, AtUs: 1,
		Exit: &agentv1.Exit{Kind: agentv1.Exit_KIND_NOT_STARTED, NotHere: true, Message: "no space left on device"},
	}}})
}

func (c *cluster) shown(id string) *apiv1.Agent {
	for _, a := range c.Agents() {
		if a.GetId() == id {
			return a
		}
	}
	return nil
}

func TestSickAgentKeepsContainersAndGetsNoNewOnes(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a, _ := c.join("a", 2)
	c.submit("old", 1)
	old := a.started()
	a.reports(old, running)
	a.feels(full())
	c.until("it is shown as sick", func() bool { return c.shown("a").GetSick().GetLack() == "disk" })
	if s := c.shown("a"); s.GetEnabled() || !s.GetDraining() || s.GetSick().GetReason() != "no space left on device" {
		t.Errorf("got %v, want it draining with its reason", s)
	}
	id := c.submit("new", 1)
	c.until("what waits names it", func() bool {
		known, _ := c.Allocation(id)
		return strings.Contains(known.Waiting, "a (disk: no space left on device)")
	})
	a.quiet()
	a.feels(&agentv1.Health{})
	if s := a.started(); s.GetAllocationId() != "new.1" {
		t.Errorf("got %s started, want new.1", s.GetAllocationId())
	}
	if c.shown("a").GetSick() != nil {
		t.Error("it is still shown as sick")
	}
	a.reports(old, terminated, 0)
	c.await(t, "old.1 ended: exited")
}

func TestAgentWithSickHelloGetsNoTasks(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.submit("t", 1)
	a, _ := c.join("a", 1, func(h *agentv1.Hello) { h.Health = full() })
	c.until("it is shown as sick", func() bool { return c.shown("a").GetSick() != nil })
	b, _ := c.join("b", 1)
	if s := b.started(); s.GetAllocationId() != "t.1" {
		t.Errorf("got %v", s)
	}
	a.quiet()
	// A restarted master learns it again from the agent's hello.
	c.restart()
	c.join("a", 1, func(h *agentv1.Hello) { h.Health = full() })
	c.until("it is shown as sick", func() bool { return c.shown("a").GetSick() != nil })
}

func TestUnknownLackIsOther(t *testing.T) {
	t.Parallel()
	if got := sicknessOf(&agentv1.Health{Lack: 99}).Lack; got != "other" {
		t.Errorf("got %q, want other", got)
	}
	if got := sicknessOf(&agentv1.Health{Lack: agentv1.Health_LACK_ENGINE}).Lack; got != "engine" {
		t.Errorf("got %q, want engine", got)
	}
	if got := sicknessOf(&agentv1.Health{}); got != nil {
		t.Errorf("of an agent that is well: got %v", got)
	}
}

// A gang has to be run again as a whole.
func TestRejectedContainerEndsGang(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a, _ := c.join("a", 1)
	b, _ := c.join("b", 1)
	c.submit("g", 2)
	s, other := a.started(), b.started()
	b.reports(other, running)
	a.feels(full())
	a.notHere(s)
	b.killed(other)
	c.await(t, "g.1 ended: not_here: agent a: no space left on device")
}

// The master restarts between the two.
func TestNotHereEndSurvivesRestart(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a, _ := c.join("a", 1)
	c.submit("t", 1)
	s := a.asked()
	c.fail = func(event string) error {
		if strings.Contains(event, "rank 0") {
			return errInjected
		}
		return nil
	}
	a.notHere(s)
	c.stored("why it ends is stored", func(d allocationDoc) bool {
		return d.Release != nil && d.Release.Cause == rm.CauseNotHere
	})
	c.stop()
	c.fail = nil
	c.start()
	a, _ = c.join("a", 1)
	c.await(t, "t.1 ended: not_here")
	a.quiet()
}

func TestNotBeforeDelaysPlacement(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a, _ := c.join("a", 1)
	later := c.submit("later", 1, func(q *rm.Request) {
		q.NotBefore, q.Delayed = time.Now().Add(time.Hour), "it could not be started twice"
	})
	soon := time.Now().Add(300 * time.Millisecond)
	c.submit("soon", 1, func(q *rm.Request) { q.NotBefore = soon })
	if s := a.started(); s.GetAllocationId() != "soon.1" || time.Now().Before(soon) {
		t.Errorf("got %s started %s before its time", s.GetAllocationId(), time.Until(soon))
	}
	known, _ := c.Allocation(later)
	if !strings.Contains(known.Waiting, "next try at ") || !strings.Contains(known.Waiting, "it could not be started twice") {
		t.Errorf("got %q, want when and why", known.Waiting)
	}
	if n := len(c.Queue(rm.QueuePart{Pool: "default"})); n != 2 {
		t.Errorf("got %d jobs in the queue, want both", n)
	}
	if err := c.Kill(t.Context(), later, "killed by ann"); err != nil {
		t.Fatal(err)
	}
	c.await(t, "later.1 ended: killed")
}

func TestFailedAgentIsAvoidedIfPossible(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	avoid := func(q *rm.Request) { q.Avoid, q.NotBefore = []rm.AgentID{"a"}, time.Now() }
	a, _ := c.join("a", 1)
	c.submit("alone", 1, avoid)
	alone := a.started() // there is no other
	a.reports(alone, terminated, 0)
	b, _ := c.join("b", 1)
	c.submit("one", 1, avoid)
	one := b.started()
	c.submit("two", 1, avoid)
	c.until("it waits", func() bool { known, _ := c.Allocation("two.1"); return known.Waiting != "" })
	b.reports(one, terminated, 0)
	two := b.started()
	b.reports(two, terminated, 0)
	c.submit("gang", 2, avoid)
	a.started()
	b.started()
	a.quiet()
}

func TestAgentIsAvoidedTemporarily(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a, _ := c.join("a", 1)
	b, _ := c.join("b", 1)
	c.submit("one", 1, func(q *rm.Request) { q.Avoid, q.NotBefore = []rm.AgentID{"a"}, time.Now() })
	b.started()
	until := time.Now().Add(300 * time.Millisecond)
	c.submit("two", 1, func(q *rm.Request) { q.Avoid, q.NotBefore = []rm.AgentID{"a"}, until.Add(-avoidFor) })
	if s := a.started(); s.GetAllocationId() != "two.1" || time.Now().Before(until) {
		t.Errorf("got %s started %s before its time", s.GetAllocationId(), time.Until(until))
	}
}

// The launcher of machines sees no room on a sick agent.
func TestALauncherSeesNoRoomOnASickAgent(t *testing.T) {
	t.Parallel()
	scenes := make(chan pool.Pool, 1)
	c := newCluster(t, func(cfg *Config) {
		cfg.Decided = func(name string, p pool.Pool, _ pool.Decision) {
			if name == "default" {
				select {
				case <-scenes:
				default:
				}
				scenes <- p
			}
		}
	})
	a, _ := c.join("a", 1)
	a.feels(full())
	c.until("it is draining", func() bool {
		p := <-scenes
		return len(p.Agents) == 1 && p.Agents[0].Draining
	})
}
