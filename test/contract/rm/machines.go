package rmtest

import (
	"errors"

	"github.com/det-deploy/det-deploy/master/rm"
)

func machineRules() map[string]rule {
	return map[string]rule{
		"machines and slots that are not there are named as such": namesUnknownMachines,
		"a machine that is drained finishes what it runs":         drainsMachine,
		"a machine that is disabled ends what it runs":            disablesMachine,
	}
}

// machines returns the manager's interface to its machines. It skips the rule for a manager without
// one.
func (w *world) machines() rm.Machines {
	w.t.Helper()
	m, ok := w.manager.(rm.Machines)
	if !ok {
		w.t.Skip("it shows no machines")
	}
	return m
}

// host returns the machine of an allocation.
func (w *world) host(id rm.AllocationID) rm.AgentID {
	told := w.owner.told(id)
	return told.Agents[told.Containers[0].ID]
}

func (w *world) set(id rm.AgentID, s rm.Switch) {
	w.t.Helper()
	if _, err := w.machines().SetAgent(w.t.Context(), id, s); err != nil {
		w.t.Errorf("%s agent %s: %v", s, id, err)
	}
}

func namesUnknownMachines(w *world) {
	w.start(1)
	id := w.submitRunning(1)
	m := w.machines()
	if _, err := m.SetAgent(w.t.Context(), "no-such-agent", rm.Drain); !errors.Is(err, rm.ErrUnknownAgent) {
		w.t.Errorf("got %v, want %v", err, rm.ErrUnknownAgent)
	}
	if _, err := m.SetSlot(w.t.Context(), "no-such-agent", 0, rm.Drain); !errors.Is(err, rm.ErrUnknownAgent) {
		w.t.Errorf("got %v, want %v", err, rm.ErrUnknownAgent)
	}
	if _, err := m.SetAgent(w.t.Context(), w.host(id), "sideways"); err == nil {
		w.t.Error("a switch that there is not is turned")
	}
	agents := m.Agents()
	if len(agents) != 1 || agents[0].GetId() != string(w.host(id)) || len(agents[0].GetSlots()) != MachineSlots || len(agents[0].GetContainers()) != 1 {
		w.t.Errorf("got agents %v, want the one with its slots and its container", agents)
	}
}

func drainsMachine(w *world) {
	w.start(1)
	id := w.submitRunning(1)
	agent := w.host(id)
	w.set(agent, rm.Drain)
	waits := w.submit(1)
	w.awaitWaiting(waits)
	w.checkNotStarted(waits)
	w.restart()
	w.awaitWaiting(waits)
	w.checkNotStarted(waits)
	w.Finish(id, 0)
	w.awaitEnd(id, rm.CauseExited)
	w.set(agent, rm.Enable)
	w.awaitRunning(waits)
}

func disablesMachine(w *world) {
	w.start(1)
	id := w.submitRunning(1)
	w.set(w.host(id), rm.Disable)
	if told := w.awaitEnd(id, rm.CauseAgentLost); told.Terminated() != 1 {
		w.t.Errorf("got states %v, want it terminated", told.States)
	}
}
