package rmtest

import (
	"slices"
	"time"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
)

func queueRules() map[string]rule {
	return map[string]rule{
		"jobs are served in the order of submission and priority": ordersJobs,
		"a job can be moved, and stays there after a restart":     movesJobs,
		"wrong changes are refused and alter nothing":             refusesWrongChanges,
		"a job holds no more slots than its limit":                limitsSlots,
		"a job that waits moves to another pool":                  movesWaitingPool,
		"a job that runs moves to another pool when preempted":    movesRunningPool,
		"a change holds for a job's later allocations":            keepsChanges,
		"a pool counts what waits and what runs":                  countsPool,
	}
}

func (w *world) change(id rm.AllocationID, c rm.Change) {
	w.t.Helper()
	if err := w.manager.Change(w.t.Context(), w.job(id), c); err != nil {
		w.t.Errorf("change the job of %s to %+v: %v", id, c, err)
	}
}

func (w *world) job(id rm.AllocationID) rm.JobID { return w.owner.told(id).Request.Job }

// checkOrder compares the queue of the default pool.
func (w *world) checkOrder(what string, want ...rm.AllocationID) {
	w.t.Helper()
	var got, jobs []string
	for _, j := range w.manager.Queue(rm.QueuePart{Pool: DefaultPool}) {
		got = append(got, j.GetJobId())
	}
	for _, id := range want {
		jobs = append(jobs, string(w.job(id)))
	}
	if !slices.Equal(got, jobs) {
		w.t.Errorf("%s: got the order\n  %q, want\n  %q", what, got, jobs)
	}
}

// submitAt submits n one-slot jobs, one second apart.
func (w *world) submitAt(n int) []rm.AllocationID {
	w.t.Helper()
	began := time.Now().Add(-time.Hour)
	var out []rm.AllocationID
	for i := range n {
		out = append(out, w.submit(1, func(r *rm.Request) { r.Submitted = began.Add(time.Duration(i) * time.Second) }))
	}
	return out
}

func ordersJobs(w *world) {
	w.start(0)
	ids := w.submitAt(3)
	a, b, c := ids[0], ids[1], ids[2]
	w.checkOrder("as submitted", a, b, c)
	before := w.manager.PriorityChanges()
	w.change(c, rm.Change{Priority: pointer(w.first())})
	w.checkOrder("with a changed priority", c, a, b)
	if w.manager.PriorityChanges() == before {
		w.t.Error("the change of a priority is not counted")
	}
	last := w.submit(1, withPriority(w.last()))
	w.checkOrder("with a less important one", c, a, b, last)
	for i, j := range w.manager.Queue(rm.QueuePart{Pool: DefaultPool}) {
		if s := j.GetSummary(); s.GetState() != apiv1.Job_STATE_QUEUED || int(s.GetJobsAhead()) != i || j.GetRequestedSlots() != 1 || j.GetAllocatedSlots() != 0 {
			w.t.Errorf("got %v as job %d, want it queued behind %d", j, i, i)
		}
	}
	w.AddMachine(DefaultPool)
	w.awaitRunning(c)
	w.awaitRunning(a)
	w.Finish(c, 0)
	w.awaitRunning(b)
	w.awaitWaiting(last)
	w.checkNotStarted(last)
}

func movesJobs(w *world) {
	w.start(0)
	ids := w.submitAt(4)
	a, b, c, d := ids[0], ids[1], ids[2], ids[3]
	beside := func(id rm.AllocationID) *rm.JobID { return pointer(w.job(id)) }
	w.change(c, rm.Change{Priority: pointer(w.first())})
	w.change(d, rm.Change{AheadOf: beside(c)})
	w.checkOrder("ahead of the first", d, c, a, b)
	w.change(d, rm.Change{BehindOf: beside(b)})
	w.checkOrder("behind the last", c, a, b, d)
	w.change(d, rm.Change{AheadOf: beside(a)})
	w.restart()
	w.checkOrder("ahead of another, after a restart", c, d, a, b)
	for range 70 { // more often than positions fit between two
		w.change(d, rm.Change{BehindOf: beside(a)})
		w.change(b, rm.Change{BehindOf: beside(a)})
	}
	w.checkOrder("after many moves", c, a, b, d)
	w.restart()
	w.checkOrder("after a restart", c, a, b, d)
}

func refusesWrongChanges(w *world) {
	w.start(0)
	a := w.submit(1)
	other := w.submit(0, inPool(OtherPool))
	job, beside := w.job(a), pointer(w.job(other))
	for name, c := range map[string]rm.Change{
		"a priority out of range":      {Priority: pointer(100)},
		"negative slots":               {MaxSlots: pointer(-1)},
		"no weight":                    {Weight: pointer(0.0)},
		"a pool that is not there":     {Pool: pointer("no-such-pool")},
		"beside itself":                {AheadOf: &job},
		"beside a job that is not":     {BehindOf: pointer(rm.JobID("no-such-job"))},
		"beside a job of another pool": {AheadOf: beside},
		"on both sides":                {AheadOf: beside, BehindOf: beside},
	} {
		if c.Priority == nil {
			c.Priority = pointer(w.first())
		}
		before, _ := w.manager.Allocation(a)
		if err := w.manager.Change(w.t.Context(), job, c); err == nil {
			w.t.Errorf("%s is not refused", name)
		}
		if after, _ := w.manager.Allocation(a); after.Priority != before.Priority {
			w.t.Errorf("%s: got priority %d after the refusal, want %d", name, after.Priority, before.Priority)
		}
	}
}

func limitsSlots(w *world) {
	w.start(1)
	first := w.request(1, func(r *rm.Request) { r.MaxSlots = 1 })
	second := later(first, rm.AllocationID(string(first.Task)+".2"))
	w.submitRequest(first)
	w.awaitRunning(first.Allocation)
	w.submitRequest(second)
	w.awaitWaiting(second.Allocation)
	w.checkNotStarted(second.Allocation)
	w.change(second.Allocation, rm.Change{MaxSlots: pointer(0)})
	w.awaitRunning(second.Allocation)
}

func movesWaitingPool(w *world) {
	w.start(1)
	w.submitRunning(MachineSlots)
	w.AddMachine(OtherPool)
	w.submitRunning(MachineSlots, inPool(OtherPool))
	id := w.submit(1)
	w.awaitWaiting(id)
	w.change(id, rm.Change{Pool: pointer(OtherPool)})
	if known, _ := w.manager.Allocation(id); known.Pool != OtherPool {
		w.t.Errorf("got pool %q, want %q", known.Pool, OtherPool)
	}
	if jobs := w.manager.Queue(rm.QueuePart{Pool: OtherPool}); len(jobs) != 2 {
		w.t.Errorf("got %v in the other pool, want two jobs", jobs)
	}
	if told := w.owner.told(id); told.End != nil {
		w.t.Errorf("got end %+v of what only moved", told.End)
	}
}

func movesRunningPool(w *world) {
	w.start(1)
	w.AddMachine(OtherPool)
	firm := w.submitRunning(1)
	if err := w.manager.Change(w.t.Context(), w.job(firm), rm.Change{Pool: pointer(OtherPool)}); err == nil {
		w.t.Error("a job that runs and may not be preempted is moved")
	}
	soft := w.request(1, preemptible)
	w.submitRequest(soft)
	w.awaitRunning(soft.Allocation)
	w.change(soft.Allocation, rm.Change{Pool: pointer(OtherPool)})
	w.awaitEnd(soft.Allocation, rm.CausePreempted)
	next := w.submitRequest(later(soft, rm.AllocationID(string(soft.Task)+".2")))
	w.awaitRunning(next)
	if known, _ := w.manager.Allocation(next); known.Pool != OtherPool {
		w.t.Errorf("got pool %q for the next allocation, want %q", known.Pool, OtherPool)
	}
}

func keepsChanges(w *world) {
	w.start(1)
	r := w.request(1)
	w.submitRequest(r)
	w.awaitRunning(r.Allocation)
	w.change(r.Allocation, rm.Change{Priority: pointer(w.first())})
	w.Finish(r.Allocation, 0)
	w.awaitEnd(r.Allocation, rm.CauseExited)
	w.restart()
	next := w.submitRequest(later(r, rm.AllocationID(string(r.Task)+".2")))
	if known, _ := w.manager.Allocation(next); known.Priority != w.first() {
		w.t.Errorf("got priority %d of the job's next allocation, want %d", known.Priority, w.first())
	}
}

func countsPool(w *world) {
	w.start(1)
	runs := w.submitRunning(MachineSlots)
	waits := w.submit(1)
	w.awaitWaiting(waits)
	pools := w.manager.Pools()
	if len(pools) != 2 || pools[0].GetName() != DefaultPool || pools[1].GetName() != OtherPool {
		w.t.Fatalf("got pools %v, want both by name", pools)
	}
	p := pools[0]
	if !p.GetDefaultComputePool() || !p.GetDefaultAuxPool() || p.GetStats().GetQueuedCount() != 1 || p.GetStats().GetScheduledCount() != 1 {
		w.t.Errorf("got %v, want the default pool with one of each", p)
	}
	settings := w.manager.PoolSettings()
	if len(settings) != len(pools) {
		w.t.Fatalf("got settings %v of %d pools", settings, len(pools))
	}
	for i, s := range settings {
		of := pools[i]
		if s.Name != of.GetName() || s.DefaultCompute != of.GetDefaultComputePool() || s.DefaultAux != of.GetDefaultAuxPool() ||
			s.DefaultPriority != int(of.GetDetails().GetPriorityScheduler().GetDefaultPriority()) {
			w.t.Errorf("got settings %+v, want those of %v", s, of)
		}
	}
	w.checkOrder("what runs is listed, too", runs, waits)
	first := w.manager.Queue(rm.QueuePart{})[0]
	if first.GetSummary().GetState() != apiv1.Job_STATE_SCHEDULED || first.GetAllocatedSlots() != MachineSlots ||
		first.GetUsername() != "ann" || first.GetEntityId() != string(w.owner.told(runs).Request.Task) || first.GetResourcePool() != DefaultPool {
		w.t.Errorf("got %v, want the job that runs", first)
	}
}
