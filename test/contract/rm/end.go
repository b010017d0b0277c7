package rmtest

import (
	"errors"

	"github.com/det-deploy/det-deploy/master/rm"
)

func endRules() map[string]rule {
	return map[string]rule{
		"what waits can be killed":                     killsWaiting,
		"what runs can be killed":                      killsRunning,
		"a program that ignores SIGTERM can be killed": killsDeaf,
		"unknown names may have ended":                 toleratesUnknown,
	}
}

func (w *world) kill(id rm.AllocationID, reason string) {
	w.t.Helper()
	if err := w.manager.Kill(w.t.Context(), id, reason); err != nil {
		w.t.Errorf("kill %s: %v", id, err)
	}
}

func killsWaiting(w *world) {
	w.start(0)
	id := w.submit(1)
	w.awaitWaiting(id)
	w.kill(id, "killed by ann")
	w.kill(id, "killed by bob")
	if told := w.awaitEnd(id, rm.CauseKilled); told.End.Reason != "killed by ann" || len(told.States) > 0 {
		w.t.Errorf("got end %+v and states %v, want the first reason and none", told.End, told.States)
	}
	w.kill(id, "killed by eve")
}

func killsRunning(w *world) {
	w.start(2)
	id := w.submitRunning(2 * MachineSlots)
	w.kill(id, "killed by ann")
	w.kill(id, "killed by bob")
	if told := w.awaitEnd(id, rm.CauseKilled); told.End.Reason != "killed by ann" || told.Terminated() != 2 {
		w.t.Errorf("got end %+v and states %v, want the first reason and both containers terminated", told.End, told.States)
	}
	w.submitRunning(2 * MachineSlots) // its slots are free again
}

func killsDeaf(w *world) {
	w.start(1)
	r := w.request(1)
	w.Deaf(r.Allocation)
	w.submitRequest(r)
	w.awaitRunning(r.Allocation)
	w.kill(r.Allocation, "killed by ann")
	w.awaitEnd(r.Allocation, rm.CauseKilled)
}

func toleratesUnknown(w *world) {
	w.start(0)
	m := w.manager
	w.kill("x.1", "killed by ann")
	if err := m.Preempt(w.t.Context(), "x.1", "paused"); err != nil {
		w.t.Errorf("preempt what is not known: %v", err)
	}
	if err := m.Change(w.t.Context(), "x", rm.Change{Priority: pointer(3)}); !errors.Is(err, rm.ErrUnknownJob) {
		w.t.Errorf("change a job that is not known: got %v, want %v", err, rm.ErrUnknownJob)
	}
	if _, found := m.Allocation("x.1"); found {
		w.t.Error("an allocation that was not submitted is known")
	}
	if jobs := m.Queue(rm.QueuePart{Pool: "no-such-pool"}); len(jobs) != 0 {
		w.t.Errorf("got %v in a pool that is not there, want nothing", jobs)
	}
}
