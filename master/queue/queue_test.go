package queue

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func newQueue(edit ...func(*Rules)) *Queue {
	r := Rules{
		Pools: []Pool{{"default", 42}, {"other", 50}}, DefaultAux: "other", DefaultCompute: "default",
		CheckWeight: func(w float64) error {
			if w <= 0 {
				return errors.New("weight: must be positive")
			}
			return nil
		},
		Fits: func(pool string, r rm.Request) error {
			if r.Slots > 8 {
				return fmt.Errorf("pool %s is too small", pool)
			}
			return nil
		},
	}
	for _, f := range edit {
		f(&r)
	}
	return New(r)
}

// request returns a request for allocation "<job>.1" of one slot, submitted at seconds after noon.
func request(job string, at int, edit ...func(*rm.Request)) rm.Request {
	r := rm.Request{
		Allocation: rm.AllocationID(job + ".1"), Task: rm.TaskID(job), Job: rm.JobID(job), Slots: 1,
		Submitted: noon.Add(time.Duration(at) * time.Second),
	}
	for _, f := range edit {
		f(&r)
	}
	return r
}

func (q *Queue) mustAdd(t *testing.T, r rm.Request) *Entry {
	t.Helper()
	e, err := q.Add(r)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func (q *Queue) mustChange(t *testing.T, id rm.JobID, c rm.Change) Changed {
	t.Helper()
	out, err := q.Change(id, c, noon)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func (q *Queue) order(pool string) (ids []string) {
	for _, l := range q.List(pool) {
		ids = append(ids, l.API().GetJobId())
	}
	return ids
}

func ptr[T any](v T) *T { return &v }

func checkOrder(t *testing.T, what string, q *Queue, want ...string) {
	t.Helper()
	if diff := cmp.Diff(q.order("default"), want); diff != "" {
		t.Errorf("%s: got - want +\n%s", what, diff)
	}
}

func TestJobsAreServedByPriorityThenPosition(t *testing.T) {
	t.Parallel()
	for high, want := range map[bool][]string{false: {"d", "a", "b"}, true: {"a", "b", "d"}} {
		q := newQueue(func(r *Rules) { r.HighFirst = high })
		q.mustAdd(t, request("b", 2))
		q.mustAdd(t, request("a", 1))
		q.mustAdd(t, request("d", 3, func(r *rm.Request) { r.Priority = 1 }))
		checkOrder(t, fmt.Sprintf("high first: %t", high), q, want...)
	}
}

func TestMovesKeepTheirPlace(t *testing.T) {
	t.Parallel()
	q := newQueue()
	for i, id := range []string{"a", "b", "d", "e"} {
		q.mustAdd(t, request(id, i))
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
		{"behind where it is", "e", rm.Change{BehindOf: ptr(rm.JobID("a"))}, []string{"d", "a", "e", "b"}},
	} {
		if got := q.mustChange(t, step.job, step.change).Jobs; len(got) != 1 || got[0].ID != step.job {
			t.Errorf("%s: got %v to be stored, want %s", step.what, got, step.job)
		}
		checkOrder(t, step.what, q, step.want...)
	}
}

func TestMoveRespacesPositions(t *testing.T) {
	t.Parallel()
	q := newQueue()
	for i, id := range []string{"a", "b", "d"} {
		q.mustAdd(t, request(id, i))
	}
	most := 0
	for range 70 { // more often than a second can be halved
		for _, id := range []rm.JobID{"d", "b"} {
			most = max(most, len(q.mustChange(t, id, rm.Change{BehindOf: ptr(rm.JobID("a"))}).Jobs))
		}
		checkOrder(t, "after a round", q, "a", "b", "d")
	}
	if most != 3 {
		t.Errorf("got at most %d jobs to be stored after one move, want all 3 of the priority", most)
	}
}

func TestSettingsApplyToLaterAllocations(t *testing.T) {
	t.Parallel()
	q := newQueue()
	q.mustAdd(t, request("a", 1))
	q.mustChange(t, "a", rm.Change{Priority: ptr(7), MaxSlots: ptr(3), Pool: ptr("other"), Weight: ptr(2.0)})
	j, _ := q.Job("a")
	stored := j.Settings
	q.End("a.1")
	restarted := newQueue()
	restarted.Restore("a", stored)
	for what, q := range map[string]*Queue{"later": q, "after a restart": restarted} {
		if _, err := q.Change("b", rm.Change{}, noon); !errors.Is(err, rm.ErrUnknownJob) {
			t.Errorf("%s: changing an unknown job: got %v, want %v", what, err, rm.ErrUnknownJob)
		}
		q.mustChange(t, "a", rm.Change{Priority: ptr(8)}) // between two allocations
		e := q.mustAdd(t, request("a", 2, func(r *rm.Request) { r.Allocation, r.MaxSlots = "a.2", 1 }))
		if e.Priority != 8 || e.SlotLimit() != 3 || e.Pool != "other" || q.List("other")[0].API().GetWeight() != 2 {
			t.Errorf("%s: got %+v, want the changed settings", what, e)
		}
	}
}

func TestJobWithoutSettingsIsDeletedWithItsLastAllocation(t *testing.T) {
	t.Parallel()
	q := newQueue()
	q.mustAdd(t, request("a", 1))
	q.mustAdd(t, request("a", 2, func(r *rm.Request) { r.Allocation = "a.2" }))
	q.End("a.1")
	if _, found := q.Job("a"); !found || !q.Known("a.1") || !q.Known("a.2") {
		t.Error("the job is forgotten, or an allocation, while one of two is left")
	}
	q.Withdraw("a.2")
	if _, found := q.Job("a"); found || q.Known("a.2") {
		t.Error("a job without allocations and changes is kept")
	}
}

func TestOnlyTheLastEndsAreRemembered(t *testing.T) {
	t.Parallel()
	q := newQueue()
	for i := range endedLimit + 1 {
		q.End(rm.AllocationID(fmt.Sprint(i)))
		q.End(rm.AllocationID(fmt.Sprint(i)))
	}
	if q.Known("0") || !q.Known("1") || len(q.ended.known) != endedLimit {
		t.Errorf("got %d remembered, want the last %d", len(q.ended.known), endedLimit)
	}
}

func TestWithdrawnEntriesAreDroppedWithoutListing(t *testing.T) {
	t.Parallel()
	q := newQueue()
	q.mustAdd(t, request("stays", 0))
	for i := range 10_000 {
		r := request(fmt.Sprintf("j%d", i), i)
		q.mustAdd(t, r)
		q.End(r.Allocation)
	}
	if n := len(q.lined); n > 2*lineRoom {
		t.Errorf("got %d entries of one that is there", n)
	}
	if list := q.List("default"); len(list) != 1 || list[0].Entries[0].Job != "stays" {
		t.Errorf("got %v, want the one that stays", list)
	}
}

func TestMovePreemptsStartedAllocations(t *testing.T) {
	t.Parallel()
	q := newQueue()
	soft := func(id string) func(*rm.Request) {
		return func(r *rm.Request) { r.Allocation, r.Preemptible = rm.AllocationID(id), true }
	}
	waits := q.mustAdd(t, request("a", 1, soft("a.1")))
	starts := q.mustAdd(t, request("a", 2, soft("a.2")))
	runs := q.mustAdd(t, request("a", 3, soft("a.3")))
	starts.Stage, runs.Stage = Starting, Running
	got := q.mustChange(t, "a", rm.Change{Pool: ptr("other")})
	if len(got.Moved) != 1 || got.Moved[0] != waits || waits.Pool != "other" {
		t.Errorf("got %v moved, want what waits", got.Moved)
	}
	if len(got.Preempt) != 2 || got.Preempt[0] != starts || got.Preempt[1] != runs || runs.Pool != "default" {
		t.Errorf("got %v to be preempted, want both that have started", got.Preempt)
	}
}

func TestInvalidChangesAlterNothing(t *testing.T) {
	t.Parallel()
	q := newQueue()
	q.mustAdd(t, request("a", 1))
	q.mustAdd(t, request("o", 1, func(r *rm.Request) { r.Pool = "other" }))
	q.mustAdd(t, request("big", 1, func(r *rm.Request) { r.Slots = 9 }))
	q.mustAdd(t, request("firm", 1)).Stage = Running
	q.mustAdd(t, request("low", 1, func(r *rm.Request) { r.Priority = 90 }))
	for name, row := range map[string]struct {
		job    rm.JobID
		change rm.Change
		want   string
	}{
		"a job that is not there":         {"x", rm.Change{}, "no such job"},
		"a priority out of range":         {"a", rm.Change{Priority: ptr(0)}, "priority: must be 1 to 99 (0)"},
		"no weight":                       {"a", rm.Change{Weight: ptr(0.0)}, "must be positive"},
		"negative slots":                  {"a", rm.Change{MaxSlots: ptr(-1)}, "must not be negative"},
		"a pool that is not there":        {"a", rm.Change{Pool: ptr("gpu")}, `no such resource pool: "gpu"; choose one of ["default" "other"]`},
		"a pool that is too small":        {"big", rm.Change{Pool: ptr("other")}, "pool other is too small"},
		"a job that cannot be preempted":  {"firm", rm.Change{Pool: ptr("other")}, "cannot be preempted"},
		"beside itself":                   {"a", rm.Change{AheadOf: ptr(rm.JobID("a"))}, "it is the same job"},
		"beside a job of another pool":    {"a", rm.Change{AheadOf: ptr(rm.JobID("o"))}, "another resource pool"},
		"beside a job that is not":        {"a", rm.Change{BehindOf: ptr(rm.JobID("x"))}, "no such job"},
		"beside a job that is too urgent": {"low", rm.Change{AheadOf: ptr(rm.JobID("firm")), MinPriority: 60}, "the priority 42 of that position is more urgent than 60"},
		"on both sides of two":            {"a", rm.Change{BehindOf: ptr(rm.JobID("o")), AheadOf: ptr(rm.JobID("o"))}, "exclude each other"},
	} {
		row.change.Weight = cmpOr(row.change.Weight, ptr(3.0))
		if _, err := q.Change(row.job, row.change, noon); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: got %v, want %q", name, err, row.want)
		}
		if j, found := q.Job(row.job); found && j.Settings.Changed() {
			t.Errorf("%s: got %+v after the refusal, want no change", name, j.Settings)
		}
	}
}

func cmpOr(a, b *float64) *float64 {
	if a != nil {
		return a
	}
	return b
}

// A restarted master repeats the settings of each of its jobs.
func TestRepeatedWeightIsAccepted(t *testing.T) {
	t.Parallel()
	q := newQueue(func(r *Rules) {
		r.CheckWeight = func(float64) error { return errors.New("weight: has no meaning here") }
	})
	q.mustAdd(t, request("plain", 0))
	q.mustAdd(t, request("heavy", 1, func(r *rm.Request) { r.Weight = 2 }))
	q.mustChange(t, "plain", rm.Change{Weight: ptr(1.0), Pool: ptr("default")})
	q.mustChange(t, "heavy", rm.Change{Weight: ptr(2.0)})
	if _, err := q.Change("plain", rm.Change{Weight: ptr(2.0)}, noon); err == nil {
		t.Error("another weight is not refused")
	}
	if j, found := q.Job("plain"); !found || j.Settings.Weight != nil {
		t.Errorf("got %+v, %t; want its weight unchanged", j, found)
	}
}

func TestRequestsChooseTheirPool(t *testing.T) {
	t.Parallel()
	q := newQueue()
	for _, row := range []struct {
		request rm.Request
		pool    string
	}{
		{request("a", 1), "default"},
		{request("a", 1, func(r *rm.Request) { r.Slots = 0 }), "other"},
		{request("a", 1, func(r *rm.Request) { r.Pool = "other" }), "other"},
	} {
		if p, err := q.PoolOf(row.request); err != nil || p.Name != row.pool {
			t.Errorf("%+v: got pool %q, %v, want %q", row.request, p.Name, err, row.pool)
		}
	}
	none := request("a", 1, func(r *rm.Request) { r.Pool = "gpu" })
	if err := q.Validate(none); !errors.Is(err, rm.ErrUnknownPool) {
		t.Errorf("got %v, want %v", err, rm.ErrUnknownPool)
	}
	wrong := request("", 1, func(r *rm.Request) { r.Slots, r.Priority, r.MaxSlots, r.Job = -1, 100, -2, "" })
	_, err := q.Add(wrong)
	for _, want := range []string{"allocation and job must be set", "slots: must not be negative (-1)", "priority: must be 1 to 99 (100)", "max_slots: must not be negative (-2)"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if len(q.List("default"))+len(q.List("other")) != 0 {
		t.Error("a refused request is queued")
	}
}

func TestJobOfManyTasksHasItsOwnName(t *testing.T) {
	t.Parallel()
	q := newQueue()
	for i, id := range []rm.AllocationID{"5.a.1", "5.b.1"} {
		q.mustAdd(t, request("exp", i, func(r *rm.Request) {
			r.Allocation, r.Task, r.Name, r.JobName, r.Entity = id, rm.TaskID(id), "Trial", "resnet", "5"
		}))
	}
	q.mustAdd(t, request("a", 9, func(r *rm.Request) { r.Name = "a command" }))
	list := q.List("default")
	if j := list[0].API(); len(list) != 2 || j.GetName() != "resnet" || j.GetEntityId() != "5" || j.GetRequestedSlots() != 2 {
		t.Errorf("got %v in a list of %d", j, len(list))
	}
	if j := list[1].API(); j.GetName() != "a command" || j.GetEntityId() != "a" {
		t.Errorf("got %v, want a job that is its task", j)
	}
}

func TestListShowsSlotsOfJobs(t *testing.T) {
	t.Parallel()
	q := newQueue()
	sized := func(id string, slots, priority int) func(*rm.Request) {
		return func(r *rm.Request) {
			r.Allocation, r.Slots, r.Priority = rm.AllocationID(id), slots, priority
			r.Name, r.Username, r.JobType = id, "ann", apiv1.Job_TYPE_COMMAND
		}
	}
	q.mustAdd(t, request("first", 1, sized("f.1", 1, 1))).Stage = Running
	q.mustAdd(t, request("big", 2, sized("b.1", 4, 42))).Stage = Starting
	q.mustAdd(t, request("big", 3, sized("b.2", 4, 42))).Stage = Running
	q.mustAdd(t, request("last", 4, sized("l.1", 2, 50)))
	var got []string
	for _, l := range q.List("default") {
		j := l.API()
		got = append(got, fmt.Sprint(j.GetJobId(), " ", j.GetName(), " ", j.GetPriority(), " ", j.GetAllocatedSlots(), "/", j.GetRequestedSlots(),
			" ", j.GetSummary().GetState(), " ", j.GetSummary().GetJobsAhead()))
	}
	if diff := cmp.Diff(got, []string{
		"first f.1 1 1/1 STATE_SCHEDULED 0", "big b.1 42 4/8 STATE_SCHEDULED_BACKFILLED 1", "last l.1 50 0/2 STATE_QUEUED 2",
	}); diff != "" {
		t.Errorf("got - want +\n%s", diff)
	}
}

func TestForgetKeepsJobsWithAllocations(t *testing.T) {
	t.Parallel()
	q := newQueue()
	q.Restore("a", Settings{Priority: 3})
	q.Restore("b", Settings{Priority: 3})
	q.mustAdd(t, request("a", 1))
	if q.Forget("a") || !q.Forget("b") || !q.Forget("x") {
		t.Error("got other jobs forgotten than those without allocations")
	}
}
