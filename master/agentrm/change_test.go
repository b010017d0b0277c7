package agentrm

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
)

// order returns the job ids of the default pool's queue.
func (c *cluster) order() (ids []string) {
	for _, j := range c.Queue(rm.QueuePart{Pool: "default"}) {
		ids = append(ids, j.GetJobId())
	}
	return ids
}

func ptr[T any](v T) *T { return &v }

func TestChangesToAQueuedJob(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	for _, id := range []string{"a", "b", "d", "e"} {
		c.submit(id, 1)
	}
	for _, step := range []struct {
		what   string
		job    rm.JobID
		change rm.Change
		want   []string
	}{
		{"a higher priority", "d", rm.Change{Priority: ptr(1)}, []string{"d", "a", "b", "e"}},
		{"ahead of the first", "e", rm.Change{AheadOf: ptr(rm.JobID("d"))}, []string{"e", "d", "a", "b"}},
		{"behind the last", "e", rm.Change{BehindOf: ptr(rm.JobID("b"))}, []string{"d", "a", "b", "e"}},
		{"between two", "e", rm.Change{AheadOf: ptr(rm.JobID("b"))}, []string{"d", "a", "e", "b"}},
		{"to another pool", "d", rm.Change{Pool: ptr("other")}, nil},
	} {
		err := c.Change(t.Context(), step.job, step.change)
		var u *rm.Unfulfillable
		if step.change.Pool != nil {
			if !errors.As(err, &u) || !u.Empty {
				t.Errorf("%s: got %v, want unfulfillable, as it is empty", step.what, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", step.what, err)
		}
		if diff := cmp.Diff(c.order(), step.want); diff != "" {
			t.Errorf("%s: got - want +\n%s", step.what, diff)
		}
	}
	for range 70 { // more often than there is room between two positions
		for _, id := range []rm.JobID{"e", "b"} {
			if err := c.Change(t.Context(), id, rm.Change{BehindOf: ptr(rm.JobID("a"))}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if diff := cmp.Diff(c.order(), []string{"d", "a", "b", "e"}); diff != "" {
		t.Errorf("after many moves, got - want +\n%s", diff)
	}
	c.restart()
	for _, id := range []string{"e", "d", "b", "a"} {
		c.submit(id, 1)
	}
	if diff := cmp.Diff(c.order(), []string{"d", "a", "b", "e"}); diff != "" {
		t.Errorf("after a restart, got - want +\n%s", diff)
	}
}

func TestInvalidChangesFail(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.submit("a", 1)
	c.submit("o", 1, func(q *rm.Request) { q.Pool = "other" })
	for name, row := range map[string]struct {
		job    rm.JobID
		change rm.Change
		want   string
	}{
		"a job that is not there":      {"x", rm.Change{}, "no such job"},
		"a priority out of range":      {"a", rm.Change{Priority: ptr(0)}, "must be 1 to 99 (0)"},
		"no weight":                    {"a", rm.Change{Weight: ptr(0.0)}, "must be positive"},
		"negative slots":               {"a", rm.Change{MaxSlots: ptr(-1)}, "must not be negative"},
		"a pool that is not there":     {"a", rm.Change{Pool: ptr("gpu")}, "no such resource pool"},
		"beside itself":                {"a", rm.Change{AheadOf: ptr(rm.JobID("a"))}, "it is the same job"},
		"beside a job of another pool": {"a", rm.Change{AheadOf: ptr(rm.JobID("o"))}, "another resource pool"},
		"beside a job that is not":     {"a", rm.Change{BehindOf: ptr(rm.JobID("x"))}, "no such job"},
		"on both sides of two":         {"a", rm.Change{BehindOf: ptr(rm.JobID("o")), AheadOf: ptr(rm.JobID("o"))}, "exclude each other"},
	} {
		if err := c.Change(t.Context(), row.job, row.change); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: got %v, want %q", name, err, row.want)
		}
	}
}

func TestMovingARunningJobPreemptsIt(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a, _ := c.join("a", 1)
	c.join("o", 1, inOther)
	c.submit("firm", 1)
	firm := a.started()
	if err := c.Change(t.Context(), "firm", rm.Change{Pool: ptr("other")}); err == nil || !strings.Contains(err.Error(), "cannot be preempted") {
		t.Errorf("got %v, want an error", err)
	}
	a.reports(firm, terminated, 0)
	c.submit("soft", 1, yielding)
	soft := a.started()
	if err := c.Change(t.Context(), "soft", rm.Change{Pool: ptr("other")}); err != nil {
		t.Fatal(err)
	}
	c.await(t, "soft.1 preempted")
	a.reports(soft, terminated, 0)
	c.await(t, "soft.1 ended: preempted: the job was moved")
	c.submit("soft", 1, yielding, func(q *rm.Request) { q.Allocation = "soft.2" })
	if got, _ := c.Allocation("soft.2"); got.Pool != "other" {
		t.Errorf("got pool %q for the next allocation, want other", got.Pool)
	}
}

func TestMaxSlotsMayBeChanged(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a, _ := c.join("a", 2)
	capped := func(id rm.AllocationID) func(*rm.Request) {
		return func(q *rm.Request) { q.Allocation, q.MaxSlots = id, 1 }
	}
	c.submit("j", 1, capped("j.1"))
	a.started()
	c.submit("j", 1, capped("j.2"))
	c.until("it is seen", func() bool { got, _ := c.Allocation("j.2"); return strings.Contains(got.Waiting, "max_slots") })
	if err := c.Change(t.Context(), "j", rm.Change{MaxSlots: ptr(0)}); err != nil {
		t.Fatal(err)
	}
	if s := a.started(); s.GetAllocationId() != "j.2" {
		t.Errorf("got %s started, want j.2", s.GetAllocationId())
	}
}

func TestQueueAndPoolsForTheAPI(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a, _ := c.join("a", 2)
	c.submit("runs", 2, func(q *rm.Request) { q.Username, q.JobType = "ann", apiv1.Job_TYPE_COMMAND })
	a.reports(a.started(), running)
	c.submit("waits", 1)
	c.submit("aux", 0)
	a.started()
	jobs := c.Queue(rm.QueuePart{})
	if len(jobs) != 3 {
		t.Fatalf("got %d jobs, want 3", len(jobs))
	}
	first, second := jobs[0], jobs[1]
	if first.GetJobId() != "runs" || first.GetEntityId() != "runs" || first.GetName() != "task runs" || first.GetUsername() != "ann" ||
		first.GetSummary().GetState() != apiv1.Job_STATE_SCHEDULED || first.GetAllocatedSlots() != 2 ||
		first.GetType() != apiv1.Job_TYPE_COMMAND || first.GetPriority() != 42 || first.GetWeight() != 1 {
		t.Errorf("got %v, want the running job first", first)
	}
	if second.GetSummary().GetState() != apiv1.Job_STATE_QUEUED || second.GetSummary().GetJobsAhead() != 1 {
		t.Errorf("got %v, want it queued with one job ahead", second)
	}
	pools := c.Pools()
	p := pools[0]
	if len(pools) != 2 || p.GetName() != "default" || !p.GetDefaultComputePool() || !p.GetDefaultAuxPool() || p.GetNumAgents() != 1 ||
		p.GetSlotsAvailable() != 2 || p.GetSlotsUsed() != 2 || p.GetSlotType() != apiv1.Device_TYPE_CUDA ||
		p.GetAuxContainersRunning() != 1 || p.GetAuxContainerCapacity() != 100 ||
		p.GetStats().GetQueuedCount() != 1 || p.GetStats().GetScheduledCount() != 2 || p.GetSlotsPerAgent() != 2 {
		t.Errorf("got %v", p)
	}
	shown := c.Agents()[0]
	stats := shown.GetSlotStats().GetTypeStats()["TYPE_CUDA"]
	if stats.GetTotal() != 2 || stats.GetStates()["STATE_RUNNING"] != 2 || len(shown.GetContainers()) != 2 ||
		shown.GetSlots()["000"].GetContainer().GetParent() != "runs.1" || shown.GetAddresses()[0] != "127.0.0.1" {
		t.Errorf("got %v", shown)
	}
}

// Scripts that use the det client depend on these keys and names.
func TestAgentsHaveTheFormThatClientsExpect(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.join("a", 12)
	shown := c.Agents()[0]
	if shown.GetVersion() != apiv1.Release || shown.GetDetDeployVersion() != "1.2.3" {
		t.Errorf("got version %q and %q, want the release of the API and the agent's own", shown.GetVersion(), shown.GetDetDeployVersion())
	}
	keys := slices.Sorted(maps.Keys(shown.GetSlots()))
	if len(keys) != 12 || keys[0] != "000" || keys[11] != "011" {
		t.Errorf("got slots under %q, want them under 000 to 011, in the order of their ids", keys)
	}
	for i, key := range keys {
		s := shown.GetSlots()[key]
		if s.GetId() != strconv.Itoa(i) || s.GetDevice().GetBrand() != "Tesla" || s.GetDevice().GetType() != apiv1.Device_TYPE_CUDA {
			t.Errorf("got %v under %s, want slot %d with its device", s, key, i)
		}
	}
	if got := shown.GetSlotStats().GetBrandStats()["Tesla"].GetTotal(); got != 12 {
		t.Errorf("got %v, want 12 of the brand that the devices name", shown.GetSlotStats().GetBrandStats())
	}
}

// The hashes of programs are still being computed when a newly started master readmits its agents.
// Agents of the master's version do not need them and do not wait.
func TestOnlyAgentsOfOtherVersionsGetPrograms(t *testing.T) {
	t.Parallel()
	known := make(chan struct{})
	c := newCluster(t, func(cfg *Config) {
		cfg.Programs = func() map[string]string { <-known; return map[string]string{"linux-amd64": "0a"} }
	})
	if _, w := c.join("a", 1); len(w.GetPrograms()) != 0 {
		t.Errorf("an agent of the master's version received programs %v", w.GetPrograms())
	}
	close(known)
	_, w := c.join("b", 1, func(h *agentv1.Hello) { h.Version = "1.2.2" })
	if w.GetPrograms()["linux-amd64"] != "0a" {
		t.Errorf("an agent of another version received programs %v", w.GetPrograms())
	}
}
