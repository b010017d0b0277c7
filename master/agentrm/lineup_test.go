package agentrm

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
	"github.com/det-deploy/det-deploy/master/pool"
	"github.com/det-deploy/det-deploy/master/rm"
)

// keptLineup compares the cached lineup of a pool with a new one.
func (c *cluster) keptLineup(t *testing.T) {
	t.Helper()
	p, _ := c.state.cfg.findPool("default")
	look := func() (*lineup, size) {
		l := c.state.lineUp(p)
		c.state.mu.Lock()
		defer c.state.mu.Unlock()
		return l, c.state.sizeOf(p.Name)
	}
	l, n := look()
	c.state.mu.Lock()
	c.state.noteAgents()
	c.state.mu.Unlock()
	fresh, m := look()
	opts := cmp.Options{
		cmpopts.IgnoreFields(lineup{}, "version", "inventory"), cmpopts.IgnoreFields(size{}, "version"), cmpopts.EquateEmpty(),
		cmp.AllowUnexported(lineup{}, size{}, room{}, division{}, needs{}), cmp.Comparer(func(a, b *agent) bool { return a == b }),
		cmpopts.SortSlices(func(a, b pool.Shape) bool { return a.Slots < b.Slots }),
	}
	if diff := cmp.Diff(fresh, l, opts) + cmp.Diff(m, n, opts); diff != "" {
		t.Errorf("the cached lineup is stale (-new +cached):\n%s", diff)
	}
}

func TestCachedLineupFollowsAgents(t *testing.T) {
	t.Parallel()
	c := newCluster(t, reconnectWait(time.Hour))
	a, _ := c.join("a", 4)
	b, _ := c.join("b", 2)
	connected := func(id rm.AgentID) func() bool {
		return func() bool {
			c.state.mu.Lock()
			defer c.state.mu.Unlock()
			return c.state.agents[id] != nil && c.state.agents[id].link != nil
		}
	}
	is := func(id rm.AgentID, holds func(*agent) bool) func() bool {
		return func() bool {
			c.state.mu.Lock()
			defer c.state.mu.Unlock()
			return c.state.agents[id] != nil && holds(c.state.agents[id])
		}
	}
	for _, step := range []struct {
		name string
		do   func() error
		done func() bool
	}{
		{"two have come", func() error { return nil }, connected("b")},
		{"one is sick", func() error {
			a.say(&agentv1.AgentMessage{Body: &agentv1.AgentMessage_Health{Health: &agentv1.Health{Lack: agentv1.Health_LACK_DISK}}})
			return nil
		}, is("a", func(a *agent) bool { return a.sick != nil })},
		{"it is well", func() error {
			a.say(&agentv1.AgentMessage{Body: &agentv1.AgentMessage_Health{Health: &agentv1.Health{}}})
			return nil
		}, is("a", func(a *agent) bool { return a.sick == nil })},
		{"a slot is disabled", func() error { _, err := c.SetSlot(t.Context(), "a", 1, rm.Disable); return err }, nil},
		{"an agent drains", func() error { _, err := c.SetAgent(t.Context(), "a", rm.Drain); return err }, nil},
		{"it is enabled", func() error { _, err := c.SetAgent(t.Context(), "a", rm.Enable); return err }, nil},
		{"one is to go", func() error { c.Retire("b"); return nil }, nil},
		{"it may stay", func() error { c.Unretire("b"); return nil }, nil},
		{"one has notice", func() error {
			b.say(&agentv1.AgentMessage{Body: &agentv1.AgentMessage_Notice{Notice: &agentv1.Notice{Kind: agentv1.Notice_KIND_REBALANCE, AtUs: 1}}})
			return nil
		}, is("b", func(a *agent) bool { return a.notice != nil })},
		{"one is lost", func() error { a.hangUp(); return nil }, is("a", func(a *agent) bool { return a.presence == Lost })},
		{"it is back", func() error { c.join("a", 4); return nil }, connected("a")},
		{"one is removed", func() error { c.Remove("b", "its machine is gone"); return nil }, nil},
		{"one is expelled", func() error { c.Expel("a", "revoked"); return nil }, nil},
	} {
		c.keptLineup(t) // so that there is a cached lineup that the step must invalidate
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if step.done != nil {
			c.until(step.name, step.done)
		}
		t.Log(step.name)
		c.keptLineup(t)
	}
}
