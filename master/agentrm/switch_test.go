package agentrm

import (
	"errors"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
	"github.com/det-deploy/det-deploy/master/rm"
)

func inOther(h *agentv1.Hello) { h.ResourcePool = "other" }

func TestDisablingAnAgentKillsItsContainers(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a, _ := c.join("a", 1)
	c.submit("t", 1)
	s := a.started()
	shown, err := c.SetAgent(t.Context(), "a", rm.Disable)
	if err != nil || shown.GetEnabled() || shown.GetDraining() {
		t.Errorf("got %v, %v, want it disabled and not draining", shown, err)
	}
	a.killed(s)
	c.await(t, "t.1 ended: agent_lost: agent a was disabled")
	c.submit("u", 1)
	if shown, err = c.SetAgent(t.Context(), "a", rm.Enable); err != nil || !shown.GetEnabled() {
		t.Errorf("got %v, %v, want it enabled", shown, err)
	}
	if s := a.started(); s.GetAllocationId() != "u.1" {
		t.Errorf("got %s, want u.1", s.GetAllocationId())
	}
}

func TestDrainingAnAgentKeepsItsContainers(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a, _ := c.join("a", 2)
	c.submit("t", 1)
	s := a.started()
	shown, err := c.SetAgent(t.Context(), "a", rm.Drain)
	if err != nil || shown.GetEnabled() || !shown.GetDraining() {
		t.Errorf("got %v, %v, want it draining", shown, err)
	}
	c.submit("u", 1)
	a.reports(s, terminated, 0)
	a.quiet()
	c.await(t, "t.1 ended: exited")
	if got, _ := c.Allocation("u.1"); len(got.Containers) != 0 {
		t.Errorf("got %v placed on a draining agent", got.Containers)
	}
}

func TestDisablingASlotKillsItsContainer(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a, _ := c.join("a", 2)
	c.submit("t", 1)
	first := a.started()
	c.submit("u", 1)
	a.started()
	shown, err := c.SetSlot(t.Context(), "a", 0, rm.Disable)
	if err != nil || shown.GetId() != "0" || shown.GetEnabled() || shown.GetContainer().GetParent() != "t.1" {
		t.Errorf("got %v, %v, want slot 0 disabled with its container", shown, err)
	}
	a.killed(first)
	c.await(t, "t.1 ended: agent_lost: slot 0 of agent a was disabled")
	if stats := c.Agents()[0].GetSlotStats().GetTypeStats()["TYPE_CUDA"]; stats.GetDisabled() != 1 || stats.GetTotal() != 2 {
		t.Errorf("got %v, want one of two disabled", stats)
	}
}

func TestSwitchOutlivesTheAgent(t *testing.T) {
	t.Parallel()
	c := newCluster(t, reconnectWait(time.Millisecond))
	a, _ := c.join("a", 1)
	if _, err := c.SetAgent(t.Context(), "a", rm.Disable); err != nil {
		t.Fatal(err)
	}
	a.hangUp()
	c.until("it is gone", func() bool { return len(c.Agents()) == 0 })
	c.join("a", 1)
	if c.Agents()[0].GetEnabled() {
		t.Error("a disabled agent is enabled when it comes back")
	}
}

func TestInvalidSwitchesFail(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.join("a", 1)
	if _, err := c.SetAgent(t.Context(), "x", rm.Disable); !errors.Is(err, rm.ErrUnknownAgent) {
		t.Errorf("an unknown agent: got %v", err)
	}
	if _, err := c.SetSlot(t.Context(), "a", 7, rm.Disable); !errors.Is(err, rm.ErrUnknownSlot) {
		t.Errorf("an unknown slot: got %v", err)
	}
	if _, err := c.SetAgent(t.Context(), "a", "off"); err == nil {
		t.Error("an unknown switch is taken")
	}
}
