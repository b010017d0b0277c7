package rmtest

import (
	"errors"
	"sync/atomic"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
)

func lifecycleRules() map[string]rule {
	return map[string]rule{
		"a task runs from submission to its end":            runsToItsEnd,
		"a large task is split over machines":               splitsOverMachines,
		"a task without slots runs beside a full machine":   runsWithoutSlots,
		"what does not fit waits until there is room":       waitsForRoom,
		"submitting twice is submitting once":               submitsOnce,
		"what has ended is not run again":                   runsNothingAgain,
		"what its owner did not take is told again":         tellsAgain,
		"an owner may refuse what was assigned":             ownerRefuses,
		"wrong requests are refused by both ways of asking": refusesWrongRequests,
	}
}

func runsToItsEnd(w *world) {
	w.start(1)
	id := w.submit(1)
	told := w.awaitRunning(id)
	known, found := w.manager.Allocation(id)
	if !found || known.Pool != DefaultPool || known.Waiting != "" || len(known.Containers) != 1 || known.Containers[0].ID != told.Containers[0].ID {
		w.t.Errorf("got %+v (%t), want what was assigned", known, found)
	}
	w.Finish(id, 3)
	told = w.awaitEnd(id, rm.CauseExited)
	if exit := told.Exits[told.Containers[0].ID]; told.Terminated() != 1 || exit.GetCode() != 3 {
		w.t.Errorf("got %d containers terminated and exit %v, want one with code 3", told.Terminated(), exit)
	}
	w.until("it is not known any more", func() bool { _, found := w.manager.Allocation(id); return !found })
}

func splitsOverMachines(w *world) {
	w.start(2)
	id := w.submit(2 * MachineSlots)
	told := w.awaitRunning(id)
	agents := make(map[rm.AgentID]bool)
	for _, c := range told.Containers {
		agents[told.Agents[c.ID]] = true
	}
	if len(told.Containers) != 2 || len(agents) != 2 {
		w.t.Fatalf("got containers %v on %v, want one on each of two machines", told.Containers, told.Agents)
	}
	w.Finish(id, 0)
	if told := w.awaitEnd(id, rm.CauseExited); told.Terminated() != 2 {
		w.t.Errorf("got states %v at the end, want both terminated", told.States)
	}
}

func runsWithoutSlots(w *world) {
	w.start(1)
	full := w.submitRunning(MachineSlots)
	aux := w.submitRunning(0)
	if told := w.owner.told(aux); len(told.Containers) != 1 || len(told.Containers[0].Devices) != 0 {
		w.t.Errorf("got containers %v, want one without devices", told.Containers)
	}
	w.Finish(full, 0)
	w.Finish(aux, 0)
	w.awaitEnd(full, rm.CauseExited)
	w.awaitEnd(aux, rm.CauseExited)
}

func waitsForRoom(w *world) {
	w.start(1)
	first := w.submitRunning(MachineSlots)
	second := w.submit(1)
	w.awaitWaiting(second)
	w.checkNotStarted(second)
	w.Finish(first, 0)
	w.awaitRunning(second)
	third := w.submit(2 * MachineSlots)
	w.awaitWaiting(third)
	w.Finish(second, 0)
	w.AddMachine(DefaultPool)
	w.awaitRunning(third)
}

func submitsOnce(w *world) {
	w.start(1)
	r := w.request(1)
	w.submitRequest(r)
	w.submitRequest(r)
	w.awaitRunning(r.Allocation)
	w.submitRequest(r)
	w.submitRunning(1) // it fits, because the other has one slot
}

func runsNothingAgain(w *world) {
	w.start(1)
	r := w.request(1)
	w.submitRequest(r)
	w.Finish(r.Allocation, 0)
	w.awaitEnd(r.Allocation, rm.CauseExited)
	w.submitRequest(r) // by an owner that had not processed the end yet
	w.submitRunning(MachineSlots)
}

func tellsAgain(w *world) {
	w.start(1)
	var failures atomic.Int32
	w.owner.failWith(func(call string, _ rm.AllocationID) error {
		if call != "assigned" && failures.Add(1)%3 != 0 {
			return errors.New("the disk is full")
		}
		return nil
	})
	id := w.submit(1)
	w.awaitRunning(id)
	w.Finish(id, 3)
	told := w.awaitEnd(id, rm.CauseExited)
	states := told.States[told.Containers[0].ID]
	if last := states[len(states)-1]; last != apiv1.Container_STATE_TERMINATED || failures.Load() < 9 {
		w.t.Errorf("got states %v with %d failures, want all of them, each at the third try", states, failures.Load())
	}
}

func ownerRefuses(w *world) {
	w.start(1)
	r := w.request(1)
	w.owner.failWith(func(call string, id rm.AllocationID) error {
		if call == "assigned" && id == r.Allocation {
			return errors.New("the template is gone")
		}
		return nil
	})
	w.submitRequest(r)
	if told := w.awaitEnd(r.Allocation, rm.CauseRefused); told.End.Reason != "the template is gone" || told.Running() > 0 {
		w.t.Errorf("got %+v, want the owner's reason", told.End)
	}
	w.submitRunning(MachineSlots)
}

func refusesWrongRequests(w *world) {
	w.start(0)
	for name, edit := range map[string]func(*rm.Request){
		"a pool that is not there": inPool("no-such-pool"),
		"negative slots":           func(r *rm.Request) { r.Slots = -1 },
		"a priority out of range":  withPriority(100),
		"negative max_slots":       func(r *rm.Request) { r.MaxSlots = -1 },
		"no job":                   func(r *rm.Request) { r.Job = "" },
		"no allocation":            func(r *rm.Request) { r.Allocation = "" },
	} {
		r := w.request(0, edit)
		for _, err := range []error{w.manager.Validate(r), w.manager.Submit(w.t.Context(), r)} {
			if err == nil || errors.Is(err, rm.ErrUnknownPool) != (r.Pool != "") {
				w.t.Errorf("%s: got %v, want a refusal, and one that says of the pool alone that it is unknown", name, err)
			}
		}
	}
	if err := w.manager.Validate(w.request(0)); err != nil {
		w.t.Errorf("a request like any other: %v", err)
	}
	if jobs := w.manager.Queue(rm.QueuePart{}); len(jobs) != 0 {
		w.t.Errorf("got %v queued, want nothing", jobs)
	}
}
