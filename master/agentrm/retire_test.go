package agentrm

import (
	"strings"
	"testing"
	"time"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/pool"
	"github.com/det-deploy/det-deploy/master/rm"
)

func TestRetiredAgentGetsNoNewTasks(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a, _ := c.join("a", 2)
	c.submit("t", 1)
	first := a.started()
	a.reports(first, running)
	if n := c.Retire("a"); n != 1 {
		t.Errorf("got %d containers, want 1", n)
	}
	c.submit("u", 1)
	c.until("it waits", func() bool { u, _ := c.Allocation("u.1"); return u.Waiting == string(pool.ForAgents) })
	a.hangUp()
	c.until("it is away", func() bool { return !c.Agents()[0].GetEnabled() })
	a, _ = c.join("a", 2, has(first.GetContainerId(), "t.1"))
	if !c.Agents()[0].GetDraining() {
		t.Error("it is forgotten when the agent comes back")
	}
	c.Unretire("a")
	a.started()
}

func TestRemovedAgentLeavesNoRecords(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.join("a", 1)
	if _, err := c.SetAgent(t.Context(), "a", rm.Disable); err != nil {
		t.Fatal(err)
	}
	c.Retire("a")
	c.Remove("a", "idle for 20m")
	c.until("it is gone", func() bool { return len(c.Agents()) == 0 })
	c.Remove("a", "again")
	c.until("its record is gone", func() bool {
		docs, err := agentDocs().All(t.Context(), c.store)
		return err == nil && len(docs) == 0
	})
	c.join("a", 1)
	if got := c.Agents()[0]; !got.GetEnabled() || got.GetDraining() {
		t.Errorf("got %v, want a new agent under an old name", got)
	}
}

func TestOwnersGetTheReasonForMissingMachines(t *testing.T) {
	t.Parallel()
	c := newCluster(t, func(cfg *Config) {
		cfg.Room = func(string) []pool.Shape { return []pool.Shape{{Slots: 8, Count: 1}} }
		cfg.Waits = func(p string, id rm.AllocationID) string { return "more of " + string(id) + " in " + p }
		cfg.Describe = func(p *apiv1.ResourcePool) { p.InstanceType = "g5.xlarge" }
	})
	id := c.submit("t", 8)
	for range 2 {
		c.Explain([]rm.AllocationID{id, "unknown"}, rm.Wait{Kind: "quota", Reason: "no quota", At: time.Now()})
	}
	c.Explain([]rm.AllocationID{id}, rm.Wait{Kind: "denied", Reason: "not allowed", At: time.Now()})
	c.await(t, "t.1 waits: not allowed")
	if n := c.count("t.1 waits: no quota"); n != 1 {
		t.Errorf("got %d times, want once", n)
	}
	c.until("it is looked at", func() bool {
		a, _ := c.Allocation(id)
		return a.Waiting == "no free slots; more of t.1 in default"
	})
	if got := c.Pools()[0].GetInstanceType(); got != "g5.xlarge" {
		t.Errorf("got machines of type %q, want the type that the launcher describes", got)
	}
	c.Refuse(id, "launch error: not allowed")
	events := c.await(t, "t.1 ended")
	if last := events[len(events)-1]; !strings.Contains(last, "refused: launch error: not allowed") {
		t.Errorf("got %q, want the launch error", last)
	}
}
