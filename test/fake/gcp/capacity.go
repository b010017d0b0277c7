package gcptest

import (
	"fmt"
	"strings"

	"google.golang.org/api/compute/v1"
)

// stockout is the lack of a machine type or GPU type in a zone.
type stockout struct {
	left    int // number of launches that still fail; negative for all
	details bool
}

// StockOut makes the next n launches of a machine type in a zone fail for lack of capacity. A
// negative n applies to all launches, and 0 ends the stockout. An empty type matches all machine
// types; a GPU type matches all machines with it.
func (w *World) StockOut(zoneName, what string, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.engine.stockouts[zoneName+"/"+what] = stockout{left: n}
}

// StockOutWithDetails is like StockOut with Google's other error code.
func (w *World) StockOutWithDetails(zoneName, what string, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.engine.stockouts[zoneName+"/"+what] = stockout{left: n, details: true}
}

// stockout returns the operation error of an instance for which its zone lacks capacity.
// https://cloud.google.com/compute/docs/troubleshooting/troubleshooting-vm-creation#resource_availability
func (w *World) stockout(path string, m *machine) *failure {
	zoneName := placeOf(path)
	what := []string{nameOf(m.MachineType), ""}
	for _, a := range m.GuestAccelerators {
		what = append(what, nameOf(a.AcceleratorType))
	}
	for _, name := range what {
		s := w.engine.stockouts[zoneName+"/"+name]
		if s.left == 0 {
			continue
		}
		if s.left > 0 {
			s.left--
			w.engine.stockouts[zoneName+"/"+name] = s
		}
		return exhausted(path, nameOf(m.MachineType), s.details)
	}
	return nil
}

// exhausted: https://cloud.google.com/compute/docs/resource-error
func exhausted(path, kind string, details bool) *failure {
	scope := strings.Join(strings.Split(path, "/")[:4], "/")
	f := &failure{
		status: 503, reason: "SERVICE UNAVAILABLE", code: "ZONE_RESOURCE_POOL_EXHAUSTED",
		message: fmt.Sprintf("The zone '%s' does not have enough resources available to fulfill the request.  Try a different zone, or try again later.", scope),
	}
	if details {
		f.code = "ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS"
		f.message = fmt.Sprintf("The zone '%s' does not have enough resources available to fulfill the request, '(resource type:compute)'.", scope)
		f.details = []*compute.OperationErrorErrorsErrorDetails{{ErrorInfo: &compute.ErrorInfo{
			Domain: "compute.googleapis.com", Reason: "resource_availability",
			Metadatas: map[string]string{"vmType": kind, "zone": placeOf(path), "zonesAvailable": ""},
		}}}
	}
	return f
}

// Preempt preempts a Spot VM: it is stopped or deleted, according to its termination action.
// https://cloud.google.com/compute/docs/instances/spot#preemption-process
func (w *World) Preempt(projectID, zoneName, name string) {
	w.onMachine(projectID, zoneName, name, func(path string, m *machine) {
		if !m.isSpot() {
			w.tb.Errorf("gcptest: %s is no Spot machine", path)
			return
		}
		var then func()
		if m.Scheduling.InstanceTerminationAction == "DELETE" {
			then = func() { w.drop(path, m) }
		}
		w.changed++
		m.preempted = true
		m.stop(w, then)
		w.settleMachines()
		w.record("compute.instances.preempted", path)
	})
}

// AnnounceMaintenance sets the maintenance event in the metadata of an instance:
// "MIGRATE_ON_HOST_MAINTENANCE", "TERMINATE_ON_HOST_MAINTENANCE", or "NONE".
// https://cloud.google.com/compute/docs/metadata/getting-live-migration-notice
func (w *World) AnnounceMaintenance(projectID, zoneName, name, event string) {
	w.onMachine(projectID, zoneName, name, func(_ string, m *machine) { m.maintenance = event })
}

// PowerOff shuts an instance down from inside, as with `shutdown`.
func (w *World) PowerOff(projectID, zoneName, name string) {
	w.onMachine(projectID, zoneName, name, func(path string, m *machine) {
		w.changed++
		m.stop(w, nil)
		w.settleMachines()
		w.record("compute.instances.guestTerminate", path)
	})
}

// record adds an operation started by Google itself.
func (w *World) record(verb, path string) {
	c := &call{World: w, caller: &Caller{Member: "system"}, try: &attempt{}}
	_, _ = c.operateFor(0, verb, path, effect{}) // without an effect, it cannot fail
}
