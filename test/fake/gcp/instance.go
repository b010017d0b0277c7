package gcptest

import (
	"strings"
	"time"

	"google.golang.org/api/compute/v1"
)

// machine is an instance with its hidden state.
//
//	PROVISIONING ──▶ STAGING ──▶ RUNNING ──▶ STOPPING ──▶ TERMINATED
//
// https://cloud.google.com/compute/docs/instances/instance-lifecycle
type machine struct {
	compute.Instance
	phase   phase
	since   time.Time // start of the phase
	then    func()    // called when it has stopped; may be nil
	console string
	guest   []*compute.GuestAttributesEntry
	// preempted and maintenance are the values in its metadata.
	preempted   bool
	maintenance string
}

// phase is a transition of an instance. Options holds the durations of transitions.
type phase string

const (
	starting phase = "starting"
	stopping phase = "stopping"
	settled  phase = "settled"
)

func instances() collection[machine] {
	return collection[machine]{
		name: "instances", kind: "compute#instance", table: func(e *engine) *table[machine] { return &e.instances },
	}
}

func instanceActs() map[string]act {
	out := instances().acts("get", "list", "aggregatedList", "setLabels")
	out["compute.instances.insert"] = insertInstance
	out["compute.instances.delete"] = deleteInstance
	return out
}

// insertInstance: https://cloud.google.com/compute/docs/reference/rest/v1/instances/insert
func insertInstance(c *call) (any, error) {
	k := instances()
	m := &machine{Instance: *decode[compute.Instance](c), phase: starting, since: c.now()}
	path, err := k.path(c, m.Name)
	if err != nil {
		return nil, err
	}
	if _, found := c.engine.instances.get(path); found {
		return nil, exists(path)
	}
	if c.engine.unreachable[placeOf(path)] {
		return nil, unreachableZone(placeOf(path))
	}
	c.complete(&m.Instance, "compute#instance", path)
	if err := c.completeMachine(path, m); err != nil {
		return nil, err
	}
	if f := c.overQuota(path, m); f != nil && c.opt.QuotaAtOnce {
		return nil, refuse(403, "quotaExceeded", "%s", f.message)
	}
	return c.launch(path, m)
}

// launch adds an instance with its disks, which are visible at once. Missing capacity is reported
// by the operation.
// https://cloud.google.com/compute/docs/troubleshooting/troubleshooting-vm-creation
func (c *call) launch(path string, m *machine) (any, error) {
	refused := c.overQuota(path, m)
	if refused == nil {
		refused = c.stockout(path, m)
	}
	c.attachDisks(path, m)
	c.engine.instances.add(path, m)
	for _, nic := range m.NetworkInterfaces {
		for _, a := range nic.AccessConfigs {
			c.useAddress(a.NatIP, path, true)
		}
	}
	return c.operate("insert", path, effect{
		apply: func() *failure {
			if refused == nil {
				c.stampAttached(m)
			}
			return refused
		},
		undo: func() { c.drop(path, m) },
	})
}

// drop deletes an instance with its auto-delete disks.
func (w *World) drop(path string, m *machine) {
	w.engine.instances.remove(path)
	w.access.forget(path)
	for _, d := range m.Disks {
		key := strings.TrimPrefix(d.Source, linkBase)
		if d.AutoDelete {
			w.engine.disks.remove(key)
		} else if disk, found := w.engine.disks.get(key); found {
			w.freeDisk(disk, path)
		}
	}
	for _, nic := range m.NetworkInterfaces {
		for _, a := range nic.AccessConfigs {
			w.useAddress(a.NatIP, path, false)
		}
	}
}

// deleteInstance stops and deletes the instance.
// https://cloud.google.com/compute/docs/instances/deleting-instance
func deleteInstance(c *call) (any, error) {
	path, m, err := instances().find(c)
	if err != nil {
		return nil, err
	}
	// https://cloud.google.com/compute/docs/instances/preventing-accidental-vm-deletion
	if m.DeletionProtection {
		return nil, refuse(400, "invalidUsage", "Invalid resource usage: 'Resource cannot be deleted if it's protected against deletion. Set resource.deletionProtection to 'false' to allow deletion.'.")
	}
	row := c.engine.instances.live[path]
	if row.going {
		return nil, notReady(path)
	}
	row.going = true
	before, since := m.phase, m.since
	m.stop(c.World, nil)
	m.show(c.World)
	due := max(c.opt.Operation, c.opt.Stopping)
	return c.operateFor(due, "delete", path, effect{
		apply: func() *failure { c.drop(path, m); return nil },
		undo:  func() { row.going, m.phase, m.since = false, before, since; m.show(c.World) },
	})
}

// stop stops the instance and then calls the function.
func (m *machine) stop(w *World, then func()) {
	if m.phase == settled && m.Status == "TERMINATED" {
		return
	}
	m.phase, m.since, m.then = stopping, w.now(), then
}

// settleMachines updates the status of all instances.
func (w *World) settleMachines() {
	var done []*machine
	for _, m := range w.engine.instances.all() {
		if m.phase != settled && m.show(w) {
			done = append(done, m)
		}
	}
	for _, m := range done {
		if then := m.then; then != nil {
			m.then = nil
			then()
		}
	}
}

// show sets the current status of an instance, and reports whether its transition is complete.
func (m *machine) show(w *World) (arrived bool) {
	took := w.now().Sub(m.since)
	switch {
	case m.phase == stopping && took < w.opt.Stopping:
		m.Status = "STOPPING"
	case m.phase == stopping:
		m.Status, m.phase, m.LastStopTimestamp = "TERMINATED", settled, w.stamp()
		return true
	case m.phase == starting && took < w.opt.Provisioning:
		m.Status = "PROVISIONING"
	case m.phase == starting && took < w.opt.Provisioning+w.opt.Staging:
		m.Status = "STAGING"
	case m.phase == starting:
		m.Status, m.phase, m.LastStartTimestamp = "RUNNING", settled, w.stamp()
	}
	return false
}

// holdsCapacity reports whether an instance counts against CPU quotas. A stopped instance does not.
// https://cloud.google.com/compute/resource-usage#stopped
func (m *machine) holdsCapacity() bool { return m.Status != "TERMINATED" && m.Status != "SUSPENDED" }

// isSpot reports whether Google may preempt the instance.
func (m *machine) isSpot() bool {
	return m.Scheduling != nil && (m.Scheduling.ProvisioningModel == "SPOT" || m.Scheduling.Preemptible)
}

// demand returns the instance's usage of quotas.
// https://cloud.google.com/compute/resource-usage#cpu_quota
func (m *machine) demand() map[string]float64 {
	out := map[string]float64{"INSTANCES": 1}
	t, _ := findType(placeOf(strings.TrimPrefix(m.SelfLink, linkBase)), nameOf(m.MachineType))
	cpus := map[string]string{"n2": "N2_CPUS", "n2d": "N2D_CPUS", "c2": "C2_CPUS", "c3": "C3_CPUS", "a2": "A2_CPUS"}[t.family()]
	prefix := ""
	if m.isSpot() {
		cpus, prefix = "PREEMPTIBLE_CPUS", "PREEMPTIBLE_"
	}
	out[orElse(cpus, "CPUS")], out["CPUS_ALL_REGIONS"] = float64(t.cpus), float64(t.cpus)
	for _, a := range m.GuestAccelerators {
		if g, found := findGPU(nameOf(a.AcceleratorType)); found {
			out[prefix+g.metric] += float64(a.AcceleratorCount)
			out["GPUS_ALL_REGIONS"] += float64(a.AcceleratorCount)
		}
	}
	for _, nic := range m.NetworkInterfaces {
		out["IN_USE_ADDRESSES"] += float64(len(nic.AccessConfigs))
	}
	return out
}
