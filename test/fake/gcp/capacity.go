package gcptest

import (
	"fmt"
	"strings"

	"google.golang.org/api/compute/v1"
)

// stockout is what a zone has no more of.
type stockout struct {
	left    int // how many launches still meet it; below 0 for all
	details bool
}

// StockOut has the next n launches of a machine type in a zone end for want of
// machines; all of them when n is below 0, and none any more when it is 0. An empty
// type is every one, and a type of GPU is every machine with it.
func (w *World) StockOut(zoneName, what string, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.engine.stockouts[zoneName+"/"+what] = stockout{left: n}
}

// StockOutWithDetails is StockOut with Google's other code.
func (w *World) StockOutWithDetails(zoneName, what string, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.engine.stockouts[zoneName+"/"+what] = stockout{left: n, details: true}
}

// stockout is how the operation of a machine ends that its zone cannot give.
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

// Preempt has Google take a Spot machine back: it stops, and is deleted where it was
// launched so. https://cloud.google.com/compute/docs/instances/spot#preemption-process
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

// AnnounceMaintenance has the metadata of a machine say what will happen to it:
// "MIGRATE_ON_HOST_MAINTENANCE", "TERMINATE_ON_HOST_MAINTENANCE", or "NONE" again.
// https://cloud.google.com/compute/docs/metadata/getting-live-migration-notice
func (w *World) AnnounceMaintenance(projectID, zoneName, name, event string) {
	w.onMachine(projectID, zoneName, name, func(_ string, m *machine) { m.maintenance = event })
}

// PowerOff has a machine stop by itself, as after `shutdown`.
func (w *World) PowerOff(projectID, zoneName, name string) {
	w.onMachine(projectID, zoneName, name, func(path string, m *machine) {
		w.changed++
		m.stop(w, nil)
		w.settleMachines()
		w.record("compute.instances.guestTerminate", path)
	})
}

// record adds an operation of Google's own.
func (w *World) record(verb, path string) {
	c := &call{World: w, caller: &Caller{Member: "system"}, try: &attempt{}}
	_, _ = c.operateFor(0, verb, path, effect{}) // it has no effect to fail
}
