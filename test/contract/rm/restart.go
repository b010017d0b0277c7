package rmtest

import (
	"slices"

	"github.com/det-deploy/det-deploy/master/rm"
)

func restartRules() map[string]rule {
	return map[string]rule{
		"what runs survives a restart":                    keepsRunning,
		"what ends while no master runs is told later":    tellsLater,
		"what waits is served after a restart":            servesWaiting,
		"what an earlier master placed can be killed":     killsAfterRestart,
		"restarting twice changes nothing of what runs":   restartsTwice,
		"what has ended before a restart stays ended":     keepsEnded,
		"a kill that was asked for survives its restart":  keepsKill,
		"a machine that comes with the restart is served": servesNewMachine,
	}
}

// checkSame compares the containers of an allocation with those before the restart.
func (w *world) checkSame(id rm.AllocationID, before Told) {
	w.t.Helper()
	known, found := w.manager.Allocation(id)
	same := slices.EqualFunc(known.Containers, before.Containers, func(a, b rm.Container) bool { return a.ID == b.ID && a.Rank == b.Rank })
	if !found || !same {
		w.t.Errorf("got %+v (%t), want the containers of before: %+v", known, found, before.Containers)
	}
}

func keepsRunning(w *world) {
	w.start(2)
	id := w.submitRunning(2 * MachineSlots)
	before := w.owner.told(id)
	w.restart()
	w.checkSame(id, before)
	waits := w.submit(1)
	w.awaitWaiting(waits)
	w.checkNotStarted(waits) // all slots are still held
	w.Finish(id, 3)
	told := w.awaitEnd(id, rm.CauseExited)
	for _, c := range told.Containers {
		if told.Exits[c.ID].GetCode() != 3 {
			w.t.Errorf("got exit %v of container %s, want code 3", told.Exits[c.ID], c.ID)
		}
	}
	w.awaitRunning(waits)
}

func tellsLater(w *world) {
	w.start(1)
	id := w.submitRunning(1)
	w.restart(func() { w.Finish(id, 3) })
	told := w.awaitEnd(id, rm.CauseExited)
	if exit := told.Exits[told.Containers[0].ID]; exit.GetCode() != 3 {
		w.t.Errorf("got exit %v, want code 3", exit)
	}
}

func servesWaiting(w *world) {
	w.start(1)
	runs := w.submitRunning(MachineSlots)
	waits := w.submit(1)
	w.awaitWaiting(waits)
	w.restart()
	w.Finish(runs, 0)
	w.awaitRunning(waits)
}

func killsAfterRestart(w *world) {
	w.start(1)
	id := w.submitRunning(1)
	w.restart()
	w.kill(id, "killed by ann")
	if told := w.awaitEnd(id, rm.CauseKilled); told.End.Reason != "killed by ann" || told.Terminated() != 1 {
		w.t.Errorf("got end %+v and states %v, want it killed by ann and terminated", told.End, told.States)
	}
}

func restartsTwice(w *world) {
	w.start(1)
	id := w.submitRunning(1)
	before := w.owner.told(id)
	w.restart()
	w.restart()
	w.checkSame(id, before)
	w.Finish(id, 0)
	w.awaitEnd(id, rm.CauseExited)
}

func keepsEnded(w *world) {
	w.start(1)
	id := w.submit(1)
	w.Finish(id, 0)
	w.awaitEnd(id, rm.CauseExited)
	w.restart()
	w.submitRunning(MachineSlots)
}

func keepsKill(w *world) {
	w.start(1)
	r := w.request(1)
	w.submitRequest(r)
	w.awaitRunning(r.Allocation)
	w.kill(r.Allocation, "killed by ann")
	w.restart()
	// The owner repeats the kill of any allocation whose end was not reported, whether or not the
	// first kill was stored in time.
	w.kill(r.Allocation, "killed by ann")
	w.awaitEnd(r.Allocation, rm.CauseKilled)
}

func servesNewMachine(w *world) {
	w.start(0)
	id := w.submit(1)
	w.restart(func() { w.AddMachine(DefaultPool) })
	w.awaitRunning(id)
}
