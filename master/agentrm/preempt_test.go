package agentrm

import (
	"strings"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
)

// A kill that was stored while the start had not reached the agent used to wait forever after a restart:
// the launch had been refused and was not looked at again.
func TestAKillBeforeTheStartWasReceivedEndsAfterARestart(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a, _ := c.join("a", 1)
	c.submit("t", 1)
	a.asked()
	if err := c.Kill(t.Context(), "t.1", "killed by ann"); err != nil {
		t.Fatal(err)
	}
	c.stored("the kill is stored", func(d allocationDoc) bool { return d.Release != nil && d.Release.Kill })
	c.fail = func(event string) error {
		if strings.Contains(event, "assigned") {
			return errInjected
		}
		return nil
	}
	c.restart()
	c.until("the launch is refused", func() bool {
		c.state.mu.Lock()
		defer c.state.mu.Unlock()
		return c.RM.state.allocations["t.1"].launched
	})
	c.join("a", 1)
	c.await(t, "t.1 ended: killed: killed by ann")
}

func TestListeningProgramGetsNoSIGTERM(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.listens = true
	a, _ := c.join("a", 1)
	c.submit("t", 1)
	s := a.started()
	a.reports(s, running)
	if err := c.Preempt(t.Context(), "t.1", "paused by ann"); err != nil {
		t.Fatal(err)
	}
	c.await(t, "t.1 preempted")
	a.reports(s, terminated, 0)
	a.quiet()
	c.await(t, "t.1 ended: preempted: paused by ann")
}

// A master that was killed between storing a preemption and reporting it never reported it.
func TestPreemptionIsReportedAgainAfterRestart(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a, _ := c.join("a", 1)
	c.submit("t", 1)
	s := a.started()
	c.stored("the start is received", received)
	if err := c.Preempt(t.Context(), "t.1", "paused by ann"); err != nil {
		t.Fatal(err)
	}
	c.await(t, "t.1 preempted")
	c.restart()
	a, _ = c.join("a", 1, has(s.GetContainerId(), "t.1"))
	grace := time.Duration(a.signalled(s, agentv1.Signal_KIND_TERMINATE).GetGraceUs()) * time.Microsecond
	if grace < 59*time.Minute || grace > time.Hour {
		t.Errorf("got %v until the kill, want the rest of an hour", grace)
	}
	if n := c.count("t.1 preempted"); n != 2 {
		t.Errorf("got %d reports of the preemption, want 2", n)
	}
}
