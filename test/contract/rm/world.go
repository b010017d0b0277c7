package rmtest

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/det-deploy/det-deploy/master/rm"
)

// world is the environment of one rule.
type world struct {
	Harness

	t     *testing.T
	suite Suite
	owner *Owner
	// manager is the current resource manager.
	manager rm.ResourceManager
}

// start runs a resource manager with the given number of machines in the default pool.
func (w *world) start(machines int, opts ...Options) {
	w.t.Helper()
	w.owner = newOwner(w.t)
	w.Harness = w.suite.New(w.t, w.owner, append(opts, Options{})[0])
	w.Start(w.attach)
	for range machines {
		w.AddMachine(DefaultPool)
	}
}

// attach submits all requests that have not ended.
func (w *world) attach(m rm.ResourceManager) {
	w.manager = m
	for _, r := range w.owner.open() {
		if err := m.Submit(w.t.Context(), r); err != nil {
			w.t.Error(err)
		}
	}
}

// restart replaces the resource manager by a new one on the same store, and calls between while
// none runs.
func (w *world) restart(between ...func()) {
	w.Stop()
	for _, do := range between {
		do()
	}
	w.owner.restarted()
	w.Start(w.attach)
}

// request returns a request of a new job for the given number of slots.
func (w *world) request(slots int, edit ...func(*rm.Request)) rm.Request {
	task := uuid.NewString()
	r := rm.Request{
		Allocation: rm.AllocationID(task + ".1"), Task: rm.TaskID(task), Job: rm.JobID(task), Name: "task of a contract",
		Username: "ann", Workspace: rm.Uncategorized, Slots: slots, Submitted: time.Now(), PreemptionTimeout: time.Hour,
	}
	for _, f := range edit {
		f(&r)
	}
	if w.suite.Edit != nil {
		w.suite.Edit(&r)
	}
	return r
}

// submit queues an allocation of a new job.
func (w *world) submit(slots int, edit ...func(*rm.Request)) rm.AllocationID {
	w.t.Helper()
	return w.submitRequest(w.request(slots, edit...))
}

func (w *world) submitRequest(r rm.Request) rm.AllocationID {
	w.t.Helper()
	w.owner.add(r)
	if err := w.manager.Submit(w.t.Context(), r); err != nil {
		w.t.Fatal(err)
	}
	return r.Allocation
}

// submitRunning submits an allocation and waits until it runs.
func (w *world) submitRunning(slots int, edit ...func(*rm.Request)) rm.AllocationID {
	w.t.Helper()
	id := w.submit(slots, edit...)
	w.awaitRunning(id)
	return id
}

// await waits until holds returns true for an allocation.
func (w *world) await(id rm.AllocationID, what string, holds func(Told) bool) Told {
	w.t.Helper()
	var last Told
	w.until(what, func() bool {
		last = w.owner.told(id)
		return holds(last)
	}, func() {
		known, found := w.manager.Allocation(id)
		w.t.Logf("the owner of %s knows %+v; the manager (%t) %+v", id, last, found, known)
	})
	return last
}

// until polls holds and fails the test after Patience; explain then reports the actual state.
func (w *world) until(what string, holds func() bool, explain ...func()) {
	w.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(Patience)
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline:
			for _, say := range explain {
				say()
			}
			w.t.Fatalf("waited in vain until %s", what)
		}
	}
}

func (w *world) awaitRunning(id rm.AllocationID) Told {
	w.t.Helper()
	return w.await(id, "all of its containers run", func(told Told) bool {
		return len(told.Containers) > 0 && told.Running() == len(told.Containers)
	})
}

// awaitEnd waits for the end of an allocation and checks its cause.
func (w *world) awaitEnd(id rm.AllocationID, cause rm.Cause) Told {
	w.t.Helper()
	told := w.await(id, "it has ended", func(told Told) bool { return told.End != nil })
	if told.End.Cause != cause {
		w.t.Errorf("got an end by %s (%s), want by %s", told.End.Cause, told.End.Reason, cause)
	}
	return told
}

func (w *world) awaitWaiting(id rm.AllocationID) {
	w.t.Helper()
	w.until("it waits and says why", func() bool {
		known, _ := w.manager.Allocation(id)
		return known.Waiting != "" && known.Waiting != "waiting for the scheduler"
	})
}

// checkNotStarted fails the test if an allocation has containers.
func (w *world) checkNotStarted(id rm.AllocationID) {
	w.t.Helper()
	if told := w.owner.told(id); len(told.States) > 0 {
		w.t.Errorf("got states %v of an allocation that waits, want none", told.States)
	}
}

// first and last return priorities that are served before and after all others.
func (w *world) first() int { return map[bool]int{false: 1, true: 99}[w.suite.HighFirst] }
func (w *world) last() int  { return map[bool]int{false: 99, true: 1}[w.suite.HighFirst] }

func preemptible(r *rm.Request) { r.Preemptible = true }

func withPriority(n int) func(*rm.Request) { return func(r *rm.Request) { r.Priority = n } }

func inPool(name string) func(*rm.Request) { return func(r *rm.Request) { r.Pool = name } }

// later returns a request for another allocation of the same job.
func later(r rm.Request, allocation rm.AllocationID) rm.Request {
	r.Allocation, r.Submitted = allocation, time.Now()
	return r
}

func pointer[T any](v T) *T { return &v }
