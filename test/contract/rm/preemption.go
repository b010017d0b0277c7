package rmtest

import (
	"time"

	"github.com/det-deploy/det-deploy/master/rm"
)

func preemptionRules() map[string]rule {
	return map[string]rule{
		"what waits ends when it is preempted":                        preemptsWaiting,
		"a program that listens is left to save itself":               preemptsListener,
		"a program that does not listen gets SIGTERM":                 preemptsByTerminate,
		"what does not stop in time after a preemption is killed":     killsAfterPreemption,
		"a kill does not change why a preempted allocation ends":      killsPreempted,
		"a task that goes first preempts one that may be preempted":   preemptsForPriority,
		"a task that may not be preempted is left to run to its end":  sparesFirm,
		"a preempted allocation keeps its deadline through a restart": keepsDeadline,
	}
}

func (w *world) preempt(id rm.AllocationID, reason string) {
	w.t.Helper()
	if err := w.manager.Preempt(w.t.Context(), id, reason); err != nil {
		w.t.Errorf("preempt %s: %v", id, err)
	}
}

// listener runs an allocation whose programs poll for the preemption signal.
func (w *world) listener(slots int, edit ...func(*rm.Request)) rm.AllocationID {
	w.t.Helper()
	r := w.request(slots, edit...)
	w.owner.mu.Lock()
	w.owner.listens[r.Allocation] = true
	w.owner.mu.Unlock()
	w.submitRequest(r)
	w.awaitRunning(r.Allocation)
	return r.Allocation
}

func (w *world) awaitPreempted(id rm.AllocationID) Told {
	w.t.Helper()
	return w.await(id, "its owner is told that it is preempted", func(told Told) bool { return !told.Deadline.IsZero() })
}

func preemptsWaiting(w *world) {
	w.start(0)
	id := w.submit(1)
	w.awaitWaiting(id)
	w.preempt(id, "paused by ann")
	if told := w.awaitEnd(id, rm.CausePreempted); told.End.Reason != "paused by ann" {
		w.t.Errorf("got reason %q, want paused by ann", told.End.Reason)
	}
}

func preemptsListener(w *world) {
	w.start(1)
	id := w.listener(1)
	before := time.Now()
	w.preempt(id, "paused by ann")
	w.preempt(id, "paused by bob")
	told := w.awaitPreempted(id)
	if told.Reason != "paused by ann" || told.Deadline.Before(before.Add(time.Hour)) || told.Deadline.After(time.Now().Add(time.Hour)) {
		w.t.Errorf("got reason %q and deadline %s, want the first reason and an hour from the first", told.Reason, told.Deadline)
	}
	if known, _ := w.manager.Allocation(id); !known.PreemptBy.Equal(told.Deadline) {
		w.t.Errorf("got it killed at %s, want at its deadline %s", known.PreemptBy, told.Deadline)
	}
	w.submitRunning(1) // by now the first would have been sent SIGTERM
	if told := w.owner.told(id); told.Running() != 1 {
		w.t.Errorf("got states %v of a program that saves itself, want it running", told.States)
	}
	w.Finish(id, 0)
	if told := w.awaitEnd(id, rm.CausePreempted); told.End.Reason != "paused by ann" {
		w.t.Errorf("got reason %q, want paused by ann", told.End.Reason)
	}
}

func preemptsByTerminate(w *world) {
	w.start(1)
	id := w.submitRunning(1) // with a preemption timeout of an hour
	w.preempt(id, "paused by ann")
	w.awaitEnd(id, rm.CausePreempted)
}

func killsAfterPreemption(w *world) {
	w.start(1)
	for _, listens := range []bool{true, false} {
		r := w.request(1, func(r *rm.Request) { r.PreemptionTimeout = time.Second })
		w.owner.mu.Lock()
		w.owner.listens[r.Allocation] = listens
		w.owner.mu.Unlock()
		w.Deaf(r.Allocation)
		w.submitRequest(r)
		w.awaitRunning(r.Allocation)
		w.preempt(r.Allocation, "paused by ann")
		if told := w.awaitEnd(r.Allocation, rm.CausePreempted); told.End.Reason != "paused by ann" || told.Deadline.IsZero() {
			w.t.Errorf("listens %t: got end %+v, want paused by ann after its owner was told", listens, told.End)
		}
	}
}

func killsPreempted(w *world) {
	w.start(1)
	id := w.listener(1)
	w.preempt(id, "paused by ann")
	w.awaitPreempted(id)
	w.kill(id, "killed by bob")
	if told := w.awaitEnd(id, rm.CausePreempted); told.End.Reason != "paused by ann" {
		w.t.Errorf("got reason %q, want the first one", told.End.Reason)
	}
}

func preemptsForPriority(w *world) {
	w.start(1, Options{Preemption: true})
	low := w.submitRunning(MachineSlots, preemptible, withPriority(w.last()))
	high := w.submit(MachineSlots, withPriority(w.first()))
	w.awaitEnd(low, rm.CausePreempted)
	w.awaitRunning(high)
}

func sparesFirm(w *world) {
	w.start(1, Options{Preemption: true})
	low := w.submitRunning(MachineSlots, withPriority(w.last()))
	high := w.submit(MachineSlots, withPriority(w.first()))
	w.awaitWaiting(high)
	if told := w.owner.told(low); !told.Deadline.IsZero() || told.Running() != 1 {
		w.t.Errorf("got %+v, want it running", told)
	}
	w.Finish(low, 0)
	w.awaitEnd(low, rm.CauseExited)
	w.awaitRunning(high)
}

func keepsDeadline(w *world) {
	w.start(1)
	id := w.listener(1)
	w.preempt(id, "paused by ann")
	told := w.awaitPreempted(id)
	w.restart()
	w.until("it is known that it is preempted", func() bool {
		known, _ := w.manager.Allocation(id)
		return known.PreemptBy.Equal(told.Deadline)
	})
	w.submitRunning(1) // its machine is back
	if told := w.owner.told(id); told.Running() != 1 {
		w.t.Errorf("got states %v of a program that saves itself, want it running", told.States)
	}
	w.Finish(id, 0)
	if told := w.awaitEnd(id, rm.CausePreempted); told.End.Reason != "paused by ann" {
		w.t.Errorf("got reason %q, want paused by ann", told.End.Reason)
	}
}
