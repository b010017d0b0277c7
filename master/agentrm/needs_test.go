package agentrm

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/pool"
	"github.com/det-deploy/det-deploy/master/rm"
)

const noRunc = "runc is not installed on this machine; install runc, for example with `apt-get install runc`, and restart the agent"

func cannotIsolate(h *agentv1.Hello)   { h.NotIsolated = noRunc }
func hasNoFixedPaths(h *agentv1.Hello) { h.NoFixedPaths = noRunc }
func trusted(q *rm.Request)            { q.Trusted = true }
func aTrial(q *rm.Request)             { q.FixedPaths = true }

func launchedAs(pool string) func(JoinProof) (Identity, error) {
	return func(p JoinProof) (Identity, error) { return Identity{Agent: p.Agent, Pool: pool, Launched: true}, nil }
}

// The placement of a task depends on the restrictions of its agents, and on those of the machine that
// was launched last.
func TestTaskIsPlacedOnlyOnAbleAgents(t *testing.T) {
	t.Parallel()
	notIsolated, noPaths := restrictions{notIsolated: "x"}, restrictions{noFixedPaths: "x"}
	room := []pool.Shape{{Slots: 4, Count: 1}}
	type outcome struct {
		Exclude []pool.AgentID
		// Left marks a task for which no pass makes a decision, because there is nothing to decide.
		Left bool
	}
	left := outcome{Left: true}
	for name, tc := range map[string]struct {
		agents   []restrictions
		launched restrictions
		room     []pool.Shape
		request  rm.Request
		want     outcome
	}{
		"agents without restrictions run everything":       {agents: []restrictions{{}, {}}, request: rm.Request{Slots: 1, FixedPaths: true}},
		"a user's task runs where it is isolated":          {agents: []restrictions{notIsolated, {}}, request: rm.Request{Slots: 1}, want: outcome{Exclude: []pool.AgentID{"a0"}}},
		"nor need it be where all users are trusted":       {agents: []restrictions{{notIsolated: "x", trustsUsers: true}}, request: rm.Request{Slots: 1}},
		"an administrator's runs everywhere":               {agents: []restrictions{notIsolated, {}}, request: rm.Request{Slots: 1, Trusted: true}},
		"an administrator's trial needs its files":         {agents: []restrictions{noPaths, {}}, request: rm.Request{Slots: 1, Trusted: true, FixedPaths: true}, want: outcome{Exclude: []pool.AgentID{"a0"}}},
		"an administrator's command needs them not":        {agents: []restrictions{noPaths}, request: rm.Request{Slots: 1, Trusted: true}},
		"a user's trial needs both":                        {agents: []restrictions{noPaths, notIsolated, {}}, request: rm.Request{Slots: 1, FixedPaths: true}, want: outcome{Exclude: []pool.AgentID{"a0", "a1"}}},
		"no agent can run it":                              {agents: []restrictions{notIsolated, notIsolated}, request: rm.Request{Slots: 1}, want: left},
		"no agent can run one without slots":               {agents: []restrictions{notIsolated}, request: rm.Request{}, want: left},
		"those that can are too small":                     {agents: []restrictions{notIsolated, {}}, request: rm.Request{Slots: 8}, want: left},
		"a pool without agents waits for some":             {request: rm.Request{Slots: 1}},
		"a machine may be launched for it":                 {agents: []restrictions{notIsolated}, room: room, request: rm.Request{Slots: 1}, want: outcome{Exclude: []pool.AgentID{"a0"}}},
		"the last that was launched cannot run it":         {agents: []restrictions{notIsolated}, launched: notIsolated, room: room, request: rm.Request{Slots: 1}, want: left},
		"nor would the next, when it has gone":             {launched: notIsolated, room: room, request: rm.Request{Slots: 1}, want: left},
		"for an administrator it can":                      {agents: []restrictions{notIsolated}, launched: notIsolated, room: room, request: rm.Request{Slots: 1, Trusted: true}},
		"another of the pool can, though none is launched": {agents: []restrictions{notIsolated, {}}, launched: notIsolated, room: room, request: rm.Request{Slots: 1}, want: outcome{Exclude: []pool.AgentID{"a0"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, p := newScene(t, 0, 0)
			for i, r := range tc.agents {
				a := newAgent(rm.AgentID("a"+string(rune('0'+i))), time.Now())
				a.pool, a.restrictions = p.Name, r
				a.devices = []*apiv1.Device{{Id: 0}, {Id: 1}}
				s.agents[a.id] = a
			}
			s.launched[p.Name] = tc.launched
			s.cfg.Room = func(string) []pool.Shape { return tc.room }
			s.addQueued(t, "t", tc.request.Slots, func(q *rm.Request) { q.Trusted, q.FixedPaths = tc.request.Trusted, tc.request.FixedPaths })
			snapshot, _ := s.snapshotPool(p, time.Now())
			var got outcome
			if got.Left = len(snapshot.Allocations) == 0; !got.Left {
				got.Exclude = snapshot.Allocations[0].Exclude
			}
			if diff := cmp.Diff(tc.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if tc.want.Left && s.allocations["t"].waitsFor() != forAbleAgent {
				t.Errorf("it waits for %q, want %q", s.allocations["t"].waitsFor(), forAbleAgent)
			}
		})
	}
}

func TestUsersTaskWaitsForIsolatingAgent(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a, _ := c.join("a", 2, cannotIsolate)
	if s := c.shown("a"); s.GetNotIsolated() != noRunc || !s.GetEnabled() {
		t.Errorf("it is shown as %v, want it enabled with its reason", s)
	}
	users := c.submit("users", 1)
	c.submit("admins", 1, trusted, prefer(60)) // behind the user's, which does not block it
	if s := a.started(); s.GetAllocationId() != "admins.1" {
		t.Fatalf("got %s started, want admins.1", s.GetAllocationId())
	}
	c.until("it waits with the name of the package", func() bool {
		known, _ := c.Allocation(users)
		return strings.HasPrefix(known.Waiting, string(forAbleAgent)+"; agents that cannot run it: a (") && strings.Contains(known.Waiting, "apt-get install runc")
	})
	a.quiet()
	b, _ := c.join("b", 2)
	if s := b.started(); s.GetAllocationId() != "users.1" {
		t.Errorf("got %s started, want users.1", s.GetAllocationId())
	}
}

func TestATrialWaitsForAnAgentWithFixedPaths(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a, _ := c.join("a", 2, hasNoFixedPaths)
	trial := c.submit("trial", 1, trusted, aTrial)
	c.submit("command", 1)
	a.reports(a.started(), terminated, 0)
	c.until("it waits with the name of the package", func() bool {
		known, _ := c.Allocation(trial)
		return strings.Contains(known.Waiting, "apt-get install runc")
	})
	a.quiet()
	// It reconnects without restrictions.
	a.hangUp()
	c.until("it is lost", func() bool { return !c.shown("a").GetEnabled() })
	a, _ = c.join("a", 2)
	if s := a.asked(); s.GetAllocationId() != "trial.1" {
		t.Errorf("got %s started, want trial.1", s.GetAllocationId())
	}
}

// An agent that replaces its program may come back without a capability.
func TestAgentKeepsContainersAfterLosingIsolation(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a, _ := c.join("a", 2)
	id := c.submit("old", 1)
	old := a.started()
	a.reports(old, running)
	a.hangUp()
	c.until("it is lost", func() bool { return !c.shown("a").GetEnabled() })
	a, w := c.join("a", 2, cannotIsolate, has(old.GetContainerId(), id))
	if len(w.GetContainers()) != 1 {
		t.Errorf("got %v, want its container to go on", w.GetContainers())
	}
	a.quiet()
	a.reports(old, terminated, 0)
	c.await(t, "old.1 ended: exited")
}

// A task that an agent has not received before it came back with restrictions is placed on another
// agent.
func TestUnreceivedStartIsPlacedElsewhereWithoutIsolation(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a, _ := c.join("a", 1)
	c.submit("t", 1)
	a.asked()
	a.hangUp()
	c.until("it is lost", func() bool { return !c.shown("a").GetEnabled() })
	a, _ = c.join("a", 1, cannotIsolate)
	events := c.await(t, "t.1 ended: not_here: agent a: ")
	if !slices.ContainsFunc(events, func(e string) bool { return strings.Contains(e, "apt-get install runc") }) {
		t.Errorf("got %q, want the name of the package", events)
	}
	a.quiet()
}

// A pool launches machines for waiting tasks. After one that cannot run them, it launches no others,
// neither while that one is connected nor when it has gone.
func TestNoLaunchForTasksThatMachinesCannotRun(t *testing.T) {
	t.Parallel()
	waiting := make(chan int, 1)
	c := newCluster(t, func(cfg *Config) {
		cfg.Machine = func(name string) (int, bool) { return 1, name == "default" }
		cfg.Room = func(name string) []pool.Shape {
			if name == "default" {
				return []pool.Shape{{Slots: 1, Count: 5}}
			}
			return nil
		}
		cfg.Decided = func(name string, _ pool.Pool, d pool.Decision) {
			if name == "default" {
				select {
				case <-waiting:
				default:
				}
				waiting <- len(d.Waiting)
			}
		}
	})
	c.door = launchedAs("default")
	id := c.submit("t", 1)
	c.until("a machine is to be launched", func() bool { return <-waiting == 1 })
	a, _ := c.join("a", 1, cannotIsolate)
	c.until("no other is", func() bool { return <-waiting == 0 })
	a.quiet()
	c.Remove("a", "it idled")
	c.until("it has gone", func() bool { return c.shown("a") == nil })
	c.submit("u", 1)
	c.until("the reason is shown", func() bool {
		known, _ := c.Allocation(id)
		return strings.Contains(known.Waiting, "machines that the pool launches cannot run it: ") && strings.Contains(known.Waiting, "apt-get install runc")
	})
	c.submit("admins", 1, trusted)
	c.until("one is for an administrator", func() bool { return <-waiting == 1 })
	b, _ := c.join("b", 1) // the image has runc by now
	b.started()
	c.until("the others have theirs launched", func() bool { return <-waiting == 2 })
}

// A machine that was launched long ago and reconnects does not predict the next ones.
func TestRestrictionsOfTheLastLaunchedMachineCount(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.door = launchedAs("default")
	counts := func() restrictions {
		c.state.mu.Lock()
		defer c.state.mu.Unlock()
		return c.state.launched["default"]
	}
	a, _ := c.join("a", 1, cannotIsolate)
	if got := counts(); got.notIsolated != noRunc {
		t.Errorf("got %+v of the first", got)
	}
	c.join("b", 1)
	a.hangUp()
	c.until("it is lost", func() bool { return !c.shown("a").GetEnabled() })
	c.join("a", 1, cannotIsolate)
	if got := counts(); got != (restrictions{}) {
		t.Errorf("got %+v, want none, as of b", got)
	}
}

func TestAgentWithoutLimitsMayNotJoinPoolThatNeedsThem(t *testing.T) {
	t.Parallel()
	noLimits := func(h *agentv1.Hello) { h.NoLimits = noRunc }
	c := newCluster(t, func(cfg *Config) { cfg.Pools[0].Limits = []string{"task_policy.max_memory"} })
	why := c.knock("a", noLimits).refused()
	if !why.GetFinal() || !strings.HasPrefix(why.GetReason(), `agent a cannot enforce task_policy.max_memory of resource pool "default": runc is not installed`) {
		t.Errorf("got %v, want a final reason with the setting", why)
	}
	c.join("isolating", 1)
	c.join("administrators", 1, noLimits, cannotIsolate) // the limits do not apply to their tasks
	c.join("other", 1, noLimits, func(h *agentv1.Hello) { h.ResourcePool = "other" })
	trusting := func(h *agentv1.Hello) { h.TrustsUsers = true }
	if why := c.knock("b", noLimits, cannotIsolate, trusting).refused(); !why.GetFinal() {
		t.Errorf("got %v, want an agent refused that runs tasks of all users", why)
	}
}
