package launcher

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/master/elastic"
	"github.com/det-deploy/det-deploy/master/pool"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/store"
	cloudtest "github.com/det-deploy/det-deploy/test/fake/cloud"
	"github.com/det-deploy/det-deploy/test/storetest"
)

// world is a master's scheduler with one pool on an in-memory platform: waiting tasks are placed by
// master/pool, and running machines join by themselves. It runs inside of testing/synctest, where hours
// pass instantly.
type world struct {
	t        *testing.T
	fleet    *cloudtest.Fleet
	path     string
	settings Pool
	*Launchers
	cancel context.CancelFunc
	done   chan error

	mu          sync.Mutex
	stopped     bool
	machines    map[rm.AgentID]bool // connected
	retired     map[rm.AgentID]bool
	allocations map[pool.AllocationID]*pool.Allocation
	told        []string
	noJoin      bool
}

func newWorld(t *testing.T, knobs cloudtest.Knobs, change ...func(*Pool)) *world {
	w := &world{
		t: t, fleet: cloudtest.NewFleet(knobs, time.Now), path: filepath.Join(t.TempDir(), "store.db"),
		machines: make(map[rm.AgentID]bool), retired: make(map[rm.AgentID]bool),
		allocations: make(map[pool.AllocationID]*pool.Allocation),
	}
	w.settings = Pool{
		Name: "gpu", Instances: w.fleet.Pool("gpu"),
		Offers: []cloud.Offer{{Type: "a", Price: cloud.OnDemand}, {Type: "b", Price: cloud.OnDemand}},
		Limits: elastic.Limits{Max: 5, MaxIdle: 20 * time.Minute, MaxStarting: 20 * time.Minute},
		Shape:  elastic.Shape{Slots: 8, Aux: 100},
	}
	for _, f := range change {
		f(&w.settings)
	}
	w.start()
	t.Cleanup(w.kill)
	return w
}

// start starts a master on the records of an earlier one.
func (w *world) start() {
	w.t.Helper()
	w.begin()
	w.pass()
}

// begin starts a master up to the scheduler's first pass.
func (w *world) begin() {
	w.t.Helper()
	s := storetest.Open(w.t, store.Config{Path: w.path})
	l, err := New(Config{Store: s, Pools: []Pool{w.settings}})
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(w.t.Context())
	if err := l.Restore(ctx); err != nil {
		w.t.Fatal(err)
	}
	w.mu.Lock()
	w.Launchers, w.stopped = l, false
	clear(w.retired)
	w.mu.Unlock()
	l.Attach(w)
	w.done = make(chan error, 1)
	go func() { w.done <- l.Run(ctx) }()
	w.cancel = func() {
		cancel()
		if err := <-w.done; err != nil {
			w.t.Errorf("run: %v", err)
		}
		if err := s.Close(); err != nil {
			w.t.Errorf("close store: %v", err)
		}
	}
}

// kill stops the master at once, which loses all unsaved state.
func (w *world) kill() {
	w.mu.Lock()
	stopped := w.stopped
	w.stopped = true
	w.mu.Unlock()
	if !stopped {
		w.cancel()
	}
}

// restart kills the master and starts another one.
func (w *world) restart() {
	w.kill()
	w.fleet.Revive()
	w.start()
}

// later advances the clock; the platform's machines and the scheduler run every second.
func (w *world) later(d time.Duration) *world {
	w.t.Helper()
	for range max(int(d/time.Second), 1) {
		time.Sleep(time.Second) //nolint:forbidigo // time passes immediately in synctest
		w.join()
		w.pass()
	}
	return w
}

// join connects the agents of running machines and disconnects the others.
func (w *world) join() {
	w.mu.Lock()
	defer w.mu.Unlock()
	runs := make(map[rm.AgentID]bool)
	for _, i := range w.fleet.Truth("gpu") {
		if i.State == cloud.InstanceRunning && !w.noJoin {
			runs[rm.AgentID(i.ID)] = true
		}
	}
	for id := range runs {
		if _, ok := w.Launched(cloud.InstanceID(id)); ok && !w.stopped {
			w.machines[id] = true
		}
	}
	for id := range w.machines {
		if !runs[id] {
			w.lose(id)
		}
	}
}

// lose removes an agent and requeues its allocations.
func (w *world) lose(id rm.AgentID) {
	delete(w.machines, id)
	for _, a := range w.allocations {
		if slices.ContainsFunc(a.Placement, func(s pool.Share) bool { return s.Agent == pool.AgentID(id) }) {
			a.State, a.Placement = pool.Pending, nil
		}
	}
}

// pass makes one scheduling pass as agentrm does.
func (w *world) pass() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped {
		return
	}
	scene := pool.Pool{Scheduler: pool.Scheduler{Fitting: pool.Best, DefaultPriority: pool.DefaultPriority}, MaxAux: 100, Room: w.Room("gpu")}
	for id := range w.machines {
		a := pool.Agent{ID: pool.AgentID(id), Enabled: true, Draining: w.retired[id]}
		for slot := range 8 {
			a.Slots = append(a.Slots, pool.Slot{ID: slot, Enabled: true})
		}
		scene.Agents = append(scene.Agents, a)
	}
	for _, a := range w.allocations {
		scene.Allocations = append(scene.Allocations, *a)
	}
	d := pool.Decide(scene, time.Now())
	for _, s := range d.Start {
		a := w.allocations[s.Allocation]
		a.State, a.Placement = pool.Running, s.Placement
	}
	w.Decided("gpu", scene, d)
}

// submit queues an allocation.
func (w *world) submit(id string, slots int) *world {
	w.mu.Lock()
	w.allocations[pool.AllocationID(id)] = &pool.Allocation{
		ID: pool.AllocationID(id), Job: pool.JobID(id), Slots: slots, Priority: 42, Submitted: time.Now(), State: pool.Pending,
	}
	w.mu.Unlock()
	w.pass()
	return w
}

// end ends an allocation.
func (w *world) end(id string) *world {
	w.mu.Lock()
	delete(w.allocations, pool.AllocationID(id))
	w.mu.Unlock()
	w.pass()
	return w
}

func (w *world) runs(id string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	a := w.allocations[pool.AllocationID(id)]
	return a != nil && a.State == pool.Running
}

func (w *world) alive() int { return len(w.fleet.Alive("gpu")) }

func (w *world) Retire(id rm.AgentID) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.retired[id] = true
	n := 0
	for _, a := range w.allocations {
		for _, s := range a.Placement {
			if s.Agent == pool.AgentID(id) {
				n++
			}
		}
	}
	return n
}

func (w *world) Unretire(id rm.AgentID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.retired, id)
}

func (w *world) Remove(id rm.AgentID, reason string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.told = append(w.told, "remove: "+reason)
	delete(w.retired, id)
	w.lose(id)
}

func (w *world) Explain(ids []rm.AllocationID, m rm.Wait) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.told = append(w.told, fmt.Sprintf("explain %v: %s: %s", ids, m.Kind, m.Reason))
}

func (w *world) Refuse(id rm.AllocationID, reason string) {
	w.mu.Lock()
	delete(w.allocations, pool.AllocationID(id))
	w.told = append(w.told, fmt.Sprintf("refuse %s: %s", id, reason))
	w.mu.Unlock()
}

// said returns the reasons reported since the last call.
func (w *world) said() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := w.told
	w.told = nil
	return out
}

func (w *world) launches() int { return len(w.fleet.Calls(cloudtest.OpLaunch)) }
