package agentrm

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/det-deploy/det-deploy/master/agentrm/link"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/pool"
	"github.com/det-deploy/det-deploy/master/rm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestATaskRunsFromSubmissionToEnd(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.submit("t", 1)
	agent, welcome := c.join("a", 2)
	if welcome.GetClusterId() != "c1" || welcome.GetReconnectWaitUs() != DefaultReconnectWait.Microseconds() {
		t.Errorf("got welcome %v, want one of cluster c1 with a reconnect wait of 25 s", welcome)
	}
	s := agent.started()
	if s.GetTaskId() != "t" || s.GetAllocationId() != "t.1" || s.GetSpec().GetEntrypoint()[0] != "true" || len(s.GetDeviceIds()) != 1 {
		t.Errorf("got start %v, want t.1 with one device", s)
	}
	agent.reports(s, apiv1.Container_STATE_PULLING)
	agent.reports(s, running)
	agent.reports(s, terminated, 3)
	got := c.await(t, "ended")
	if diff := cmp.Diff(got, []string{
		"t.1 assigned to 1", "t.1 rank 0 PULLING", "t.1 rank 0 RUNNING", "t.1 rank 0 TERMINATED EXITED 3",
		"t.1 ended: exited: all containers have ended",
	}); diff != "" {
		t.Errorf("events, got - want +\n%s", diff)
	}
	if left, err := allocationDocs().All(t.Context(), c.store); err != nil || len(left) != 0 {
		t.Errorf("got %v, %v stored after the end, want nothing", left, err)
	}
	if _, known := c.Allocation("t.1"); known {
		t.Error("the allocation is known after its end")
	}
	c.submit("t", 1) // by an owner that has not seen the end yet
	c.submit("next", 2)
	if s := agent.started(); s.GetAllocationId() != "next.1" {
		t.Errorf("got %s started, want next.1: t.1 has ended", s.GetAllocationId())
	}
}

func TestGangHasOneRankedContainerPerAgent(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a, _ := c.join("a", 2)
	b, _ := c.join("b", 2)
	c.submit("gang", 4)
	first, second := a.started(), b.started()
	if first.GetRank() != 0 || second.GetRank() != 1 {
		t.Errorf("got ranks %d and %d, want 0 and 1", first.GetRank(), second.GetRank())
	}
	if diff := cmp.Diff([][]int32{first.GetDeviceIds(), second.GetDeviceIds()}, [][]int32{{0, 1}, {0, 1}}); diff != "" {
		t.Errorf("devices, got - want +\n%s", diff)
	}
	a.reports(first, running)
	b.reports(second, running)
	c.await(t, "gang.1 rank 1 RUNNING")
	if hosts := c.where(); len(hosts) != 2 || hosts[0] != c.Agents()[0].GetAddresses()[0] {
		t.Errorf("got hosts %q, want the addresses of both machines", hosts)
	}
	a.reports(first, terminated, 0)
	if n := c.count("ended"); n != 0 {
		t.Error("the gang has ended with its first container")
	}
	b.reports(second, terminated, 0)
	c.await(t, "gang.1 ended: exited")
}

func TestAnAuxiliaryTaskTakesNoSlot(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a, _ := c.join("a", 0)
	c.submit("aux", 0)
	if s := a.started(); len(s.GetDeviceIds()) != 0 {
		t.Errorf("got devices %v, want none", s.GetDeviceIds())
	}
}

func TestRepeatedStateIsStoredOnceAndAcknowledgedAgain(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a, _ := c.join("a", 1)
	c.submit("t", 1)
	s := a.started()
	a.reports(s, running)
	a.reports(s, running)
	a.reports(s, apiv1.Container_STATE_PULLING) // an old one, delayed
	a.reports(s, terminated, 0)
	a.reports(s, terminated, 0)
	for _, state := range []string{"RUNNING", "TERMINATED", "ended"} {
		if n := c.count(state); n != 1 {
			t.Errorf("got %d events %s, want 1", n, state)
		}
	}
	if n := c.count("PULLING"); n != 0 {
		t.Error("a state went backwards")
	}
}

func TestNothingIsAcknowledgedBeforeItIsStored(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a, _ := c.join("a", 1)
	c.submit("t", 1)
	s := a.started()
	fails := 2
	c.mu.Lock()
	c.fail = func(event string) error {
		if strings.Contains(event, "RUNNING") && fails > 0 {
			fails--
			return errInjected
		}
		return nil
	}
	c.mu.Unlock()
	a.reports(s, running)
	if n := c.count("RUNNING"); n != 1 || fails != 0 {
		t.Errorf("got %d events and %d failures left, want the third try to be acknowledged", n, fails)
	}
}

func TestLogLinesAreAcknowledged(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a, _ := c.join("a", 1)
	c.submit("t", 1)
	s := a.started()
	line := []*agentv1.Line{{Text: []byte("x")}, {Text: []byte("y")}}
	for _, row := range []struct {
		container string
		first     uint64
		want      uint64
	}{{s.GetContainerId(), 0, 2}, {s.GetContainerId(), 2, 4}, {s.GetContainerId(), 0, 4}, {"forgotten", 7, 9}} {
		a.say(&agentv1.AgentMessage{Body: &agentv1.AgentMessage_Logs{Logs: &agentv1.Logs{
			ContainerId: row.container, FirstSeq: row.first, Lines: line,
		}}})
		if got := a.next().GetLogAck().GetNextSeq(); got != row.want {
			t.Errorf("container %s from %d: got next %d, want %d", row.container, row.first, got, row.want)
		}
	}
}

func TestStartMayExceedTheAgentsMessageLimit(t *testing.T) {
	t.Parallel()
	c := newCluster(t, func(c *Config) {
		c.Limits = link.DefaultLimits()
		c.Limits.Message = 1 << 16
	})
	c.files = []*apiv1.File{{Path: "/model", Content: make([]byte, 32<<20)}}
	a, _ := c.join("a", 1)
	c.submit("t", 1)
	s := a.started()
	if n := len(s.GetSpec().GetFiles()[0].GetContent()); n != 32<<20 {
		t.Errorf("got a file of %d bytes, want %d", n, 32<<20)
	}
	a.reports(s, terminated, 0)
}

func TestOwnerErrorEndsAllocation(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.fail = func(event string) error {
		if strings.Contains(event, "bad.1 assigned") {
			return errors.New("the template is gone")
		}
		return nil
	}
	a, _ := c.join("a", 1)
	c.submit("bad", 1)
	c.await(t, "bad.1 ended: refused: the template is gone")
	c.submit("good", 1)
	if s := a.started(); s.GetAllocationId() != "good.1" {
		t.Errorf("got start of %s, want good.1 only", s.GetAllocationId())
	}
}

func TestKill(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	waits := c.submit("waits", 1)
	if err := c.Kill(t.Context(), waits, "killed by ann"); err != nil {
		t.Fatal(err)
	}
	c.await(t, "waits.1 ended: killed: killed by ann")
	a, _ := c.join("a", 2)
	runs := c.submit("runs", 2)
	s := a.started()
	a.reports(s, running)
	for range 2 { // requested twice, it is killed once
		if err := c.Kill(t.Context(), runs, "killed by bob"); err != nil {
			t.Fatal(err)
		}
	}
	a.killed(s)
	c.await(t, "runs.1 ended: killed: killed by bob")
	if err := c.Kill(t.Context(), runs, "again"); err != nil {
		t.Errorf("killing an ended allocation: %v", err)
	}
}

func TestPreemption(t *testing.T) {
	t.Parallel()
	c := newCluster(t, preempting)
	a, _ := c.join("a", 1)
	c.submit("low", 1, prefer(50), yielding)
	low := a.started()
	a.reports(low, running)
	c.submit("high", 1, prefer(1))
	c.await(t, "low.1 preempted")
	if grace := time.Duration(a.signalled(low, agentv1.Signal_KIND_TERMINATE).GetGraceUs()) * time.Microsecond; grace < 59*time.Minute {
		t.Errorf("got %v between SIGTERM and the kill, want an hour", grace)
	}
	got, _ := c.Allocation("low.1")
	if left := time.Until(got.PreemptBy); left < 59*time.Minute || left > time.Hour {
		t.Errorf("got %v until the kill, want an hour", left)
	}
	if high, _ := c.Allocation("high.1"); high.Waiting != "slots are being released for it" {
		t.Errorf("got waiting %q", high.Waiting)
	}
	a.reports(low, terminated, 0)
	events := c.await(t, "low.1 ended: preempted: preempted for task high ")
	if s := a.started(); s.GetAllocationId() != "high.1" {
		t.Errorf("got %s started after %v, want high.1", s.GetAllocationId(), events)
	}
}

func TestPreemptedTasksThatDoNotStopAreKilled(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a, _ := c.join("a", 1)
	id := c.submit("t", 1, func(q *rm.Request) { q.PreemptionTimeout = time.Second })
	s := a.started()
	if err := c.Preempt(t.Context(), id, "paused by ann"); err != nil {
		t.Fatal(err)
	}
	c.await(t, "t.1 preempted")
	a.signalled(s, agentv1.Signal_KIND_TERMINATE)
	a.killed(s)
	c.await(t, "t.1 ended: preempted: paused by ann")
	waiting := c.submit("w", 99)
	if err := c.Preempt(t.Context(), waiting, "paused"); err != nil {
		t.Fatal(err)
	}
	c.await(t, "w.1 ended: preempted: paused")
}

func TestSubmitIsIdempotent(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a, _ := c.join("a", 2)
	c.submit("t", 1)
	c.submit("t", 1)
	a.started()
	c.submit("u", 1)
	if s := a.started(); s.GetAllocationId() != "u.1" {
		t.Errorf("got %s started, want u.1", s.GetAllocationId())
	}
}

func TestInvalidRequestsFail(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	for name, q := range map[string]struct {
		change func(*rm.Request)
		want   string
	}{
		"a pool that is not there": {func(q *rm.Request) { q.Pool = "gpu" }, `no such resource pool: "gpu"; choose one of ["default" "other"]`},
		"negative slots":           {func(q *rm.Request) { q.Slots = -1 }, "slots: must not be negative (-1)"},
		"a priority out of range":  {prefer(100), "priority: must be 1 to 99 (100)"},
		"negative max_slots":       {func(q *rm.Request) { q.MaxSlots = -2 }, "max_slots: must not be negative (-2)"},
		"no job":                   {func(q *rm.Request) { q.Job = "" }, "allocation and job must be set"},
	} {
		request := rm.Request{Allocation: "x.1", Job: "x"}
		q.change(&request)
		for _, err := range []error{c.Submit(t.Context(), request), c.Validate(request)} {
			if err == nil || !strings.Contains(err.Error(), q.want) {
				t.Errorf("%s: got %v, want %q", name, err, q.want)
			}
		}
	}
}

func TestValidateDescribesThePool(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.join("a", 4)
	c.join("b", 4)
	ok := func(slots int, single bool) error {
		return c.Validate(rm.Request{Allocation: "x.1", Job: "x", Slots: slots, SingleNode: single})
	}
	if err := ok(8, false); err != nil {
		t.Errorf("eight on two fours: %v", err)
	}
	var u *rm.Unfulfillable
	if err := ok(8, true); !errors.As(err, &u) || !strings.Contains(err.Error(), "request unfulfillable") ||
		!strings.Contains(u.Reason, "the task runs on one machine, but the largest has 4 slots") {
		t.Errorf("eight on one: got %v", err)
	}
	other := rm.Request{Allocation: "x.1", Job: "x", Slots: 1, Pool: "other"}
	if err := c.Validate(other); !errors.As(err, &u) || !strings.Contains(u.Reason, "no agents") {
		t.Errorf("an empty pool: got %v", err)
	}
	other.Slots = 0
	if err := c.Validate(other); err != nil {
		t.Errorf("zero slots in an empty pool: %v", err)
	}
	if err := c.Submit(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	c.until("the reason to wait is shown", func() bool { a, _ := c.Allocation("x.1"); return a.Waiting == string(pool.ForAgents) })
}

func TestUnfulfillableRequestsFailOnABusyPool(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.join("a", 2)
	if err := c.Submit(t.Context(), rm.Request{Allocation: "big.1", Job: "big", Slots: 2, SingleNode: true}); err != nil {
		t.Fatal(err)
	}
	c.until("all slots are taken by placed allocations", func() bool {
		a, _ := c.Allocation("big.1")
		return len(a.Containers) == 1
	})
	next := rm.Request{Allocation: "x.1", Job: "x", Slots: 2, SingleNode: true}
	if err := c.Validate(next); err != nil {
		t.Errorf("what only has to wait: %v", err)
	}
	next.Slots = 3
	if err := c.Validate(next); err == nil {
		t.Error("more slots than a machine has are taken while its image is pulled")
	}
}

func TestElasticPoolFitsOneLaunchableMachine(t *testing.T) {
	t.Parallel()
	c := newCluster(t, func(cfg *Config) {
		// Its one machine is present, so that no other may be launched now.
		cfg.Machine = func(name string) (int, bool) { return 4, name == "other" }
	})
	for slots, fits := range map[int]bool{0: true, 4: true, 5: false, 8: false} {
		err := c.Validate(rm.Request{Allocation: "x.1", Job: "x", Slots: slots, Pool: "other", SingleNode: true})
		if (err == nil) != fits {
			t.Errorf("%d slots on machines of 4: got %v", slots, err)
		}
	}
}
