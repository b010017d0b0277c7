package parts

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/api/compute/v1"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/gcp/attest"
	"github.com/det-deploy/det-deploy/cloud/gcp/fleet"
	"github.com/det-deploy/det-deploy/cloud/gcp/metadata"
	"github.com/det-deploy/det-deploy/master"
	"github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/elastic"
	"github.com/det-deploy/det-deploy/master/launcher"
	"github.com/det-deploy/det-deploy/master/pool"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/store"
	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
	"github.com/det-deploy/det-deploy/test/storetest"
)

const (
	zoneA = "us-west1-a"
	zoneB = "us-west1-b"
	// masterName is the name of the master's machine, in zone B.
	masterName = "det-lab-master"
	// masterAccount is the service account of the master's machine.
	masterAccount = "det-master@" + gcptest.Project + ".iam.gserviceaccount.com"
)

// onGoogle returns the manual's pool with additional settings.
func onGoogle(extra string) string {
	return `
resource_pools:
  - pool_name: default
    provider:
      type: gcp
      boot_disk_source_image: ` + gcptest.ImageUbuntu + `
      instance_type: {machine_type: n1-standard-8, gpu_num: 1}
      label_key: managed-by
      label_value: lab
      max_instances: 3
      max_idle_agent_period: 5m
` + extra
}

// googleWorld is a master's scheduler and launchers with pools in an in-memory Google Cloud. Its machines
// join by proving their identity as real machines do. It runs inside testing/synctest.
type googleWorld struct {
	t      *testing.T
	google *gcptest.World
	caller gcptest.Caller
	env    master.Env
	path   string

	*launcher.Launchers
	provider *gcpProvider
	attestor cloud.Attestor
	shapes   map[string]elastic.Shape
	cancel   context.CancelFunc
	done     chan error

	mu          sync.Mutex
	stopped     bool
	agents      map[rm.AgentID]string // the pool of each connected agent
	retired     map[rm.AgentID]bool
	allocations map[pool.AllocationID]*pool.Allocation
	pools       map[pool.AllocationID]string
	refused     map[string]error // join errors by machine
	removed     []string
}

// openGoogle starts a master on a Google Cloud machine. Its calls are those of the caller.
func openGoogle(t *testing.T, yaml string, o gcptest.Options, c gcptest.Caller) *googleWorld {
	t.Helper()
	w := &googleWorld{
		t: t, google: gcptest.New(t, o), caller: c, path: filepath.Join(t.TempDir(), "store.db"),
		agents: make(map[rm.AgentID]string), retired: make(map[rm.AgentID]bool), refused: make(map[string]error),
		allocations: make(map[pool.AllocationID]*pool.Allocation), pools: make(map[pool.AllocationID]string),
	}
	w.google.GiveAccount(gcptest.Project, "det-master")
	w.google.GiveAccount(gcptest.Project, "det-agent")
	w.insert(zoneB, masterName, nil)
	w.env = gcpEnv(t, yaml)
	w.start()
	t.Cleanup(w.kill)
	return w
}

func gcpEnv(t *testing.T, yaml string) master.Env {
	t.Helper()
	m, _, err := config.Parse([]byte(yaml), "master.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if left := config.Unbuilt(m); len(left) > 0 {
		t.Fatal(left)
	}
	return master.Env{
		Config: m, ClusterID: "cluster-1", Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
		Programs: func() map[string]string {
			return map[string]string{"linux-amd64": strings.Repeat("a", 64), "darwin-arm64": strings.Repeat("b", 64)}
		},
	}
}

// gcpParts returns the provider of a master on a machine, with the caller's permissions.
func gcpParts(w *gcptest.World, c gcptest.Caller, machine string) *gcpProvider {
	p := newGCPProvider()
	p.open = func(ctx context.Context, o api.Options) (api.Clients, error) {
		client := w.Client("")
		client.Transport = w.Transport(c)
		return api.New(ctx, client, o)
	}
	p.home = fleet.Home{Metadata: metadata.Server{Transport: gcptest.InProcess(w.Metadata(gcptest.Project, zoneB, machine))}}
	p.keys = &attest.Keys{Transport: gcptest.InProcess(w.Certs("key-1")), Now: w.Now}
	return p
}

// insert creates a machine without the master's knowledge.
func (w *googleWorld) insert(zone, name string, change func(*compute.Instance)) {
	w.t.Helper()
	insertMachine(w.t, w.google, zone, name, change)
}

func insertMachine(t *testing.T, w *gcptest.World, zone, name string, change func(*compute.Instance)) {
	t.Helper()
	c, err := api.New(t.Context(), w.Client(""), api.Options{Project: gcptest.Project, Region: "us-west1"})
	if err != nil {
		t.Fatal(err)
	}
	in := &compute.Instance{
		Name: name, MachineType: "zones/" + zone + "/machineTypes/e2-standard-4",
		Disks:             []*compute.AttachedDisk{{Boot: true, AutoDelete: true, InitializeParams: &compute.AttachedDiskInitializeParams{SourceImage: gcptest.ImageUbuntu}}},
		NetworkInterfaces: []*compute.NetworkInterface{{Network: "global/networks/default"}},
	}
	if change != nil {
		change(in)
	}
	if err := api.Run(t.Context(), c, c.Compute.Instances.Insert(c.Project, zone, in)); err != nil {
		t.Fatal(err)
	}
}

// start starts a master on the state of its predecessor.
func (w *googleWorld) start() {
	w.t.Helper()
	w.provider = gcpParts(w.google, w.caller, masterName)
	var err error
	if _, w.attestor, err = w.provider.Attestor(w.env, w.env.Config.ResourcePools); err != nil {
		w.t.Fatal(err)
	}
	s := storetest.Open(w.t, store.Config{Path: w.path})
	w.shapes = make(map[string]elastic.Shape)
	l, err := launcher.New(launcher.Config{Store: s, Pools: w.launcherPools(), Log: w.env.Log})
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
	w.pass()
}

func (w *googleWorld) launcherPools() []launcher.Pool {
	w.t.Helper()
	var out []launcher.Pool
	for _, p := range w.env.Config.ResourcePools {
		m, err := w.provider.Machines(w.t.Context(), w.env, p)
		if err != nil {
			w.t.Fatal(err)
		}
		e := p.Provider.Elastic()
		w.shapes[p.Name] = elastic.Shape{Slots: m.Slots, Aux: 10}
		out = append(out, launcher.Pool{
			Name: p.Name, Instances: m.Instances, Offers: m.Offers, Shape: w.shapes[p.Name], LaunchWait: m.LaunchWait,
			Limits: elastic.Limits{Min: e.MinInstances, Max: e.MaxInstances, MaxIdle: time.Duration(e.MaxIdleAgentPeriod), MaxStarting: time.Duration(e.MaxAgentStartingPeriod)},
		})
	}
	return out
}

// kill stops the master immediately; unwritten state is lost.
func (w *googleWorld) kill() {
	w.mu.Lock()
	stopped := w.stopped
	w.stopped = true
	w.mu.Unlock()
	if !stopped {
		w.cancel()
	}
}

// restart kills the master and starts a new one.
func (w *googleWorld) restart() {
	w.t.Helper()
	w.kill()
	w.google.Revive()
	w.start()
}

// later advances time; machines and the scheduler make progress every second.
func (w *googleWorld) later(d time.Duration) *googleWorld {
	w.t.Helper()
	for range max(int(d/time.Second), 1) {
		time.Sleep(time.Second) //nolint:forbidigo // time passes immediately in synctest
		w.join()
		w.pass()
	}
	return w
}

// googleMachine is a machine other than the master's.
type googleMachine struct {
	*compute.Instance

	zone string
}

func (w *googleWorld) machines() map[string]googleMachine {
	out := make(map[string]googleMachine)
	for _, i := range w.google.Instances() {
		if i.Name != masterName {
			out[i.Name] = googleMachine{i, path.Base(i.Zone)}
		}
	}
	return out
}

func (w *googleWorld) names() []string { return slices.Sorted(maps.Keys(w.machines())) }

// join presents the proofs of all running machines and connects the accepted ones.
func (w *googleWorld) join() {
	all := w.machines()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		w.mu.Lock()
		_, in := w.agents[rm.AgentID(name)]
		w.mu.Unlock()
		if all[name].Status != "RUNNING" || in {
			continue
		}
		err := w.knock(all[name])
		w.mu.Lock()
		w.refused[name] = err
		w.mu.Unlock()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for id := range w.agents {
		if m, found := all[string(id)]; !found || m.Status != "RUNNING" {
			w.lose(id)
		}
	}
}

// knock presents a machine's proof to the master.
func (w *googleWorld) knock(m googleMachine) error {
	proof, err := w.prover(m).Prove(w.t.Context(), w.env.ClusterID)
	if err != nil {
		return err
	}
	return w.admit(proof)
}

func (w *googleWorld) prover(m googleMachine) attest.Prover {
	return attest.Prover{Metadata: metadata.Server{Transport: gcptest.InProcess(w.google.Metadata(gcptest.Project, m.zone, m.Name))}}
}

// admit verifies a proof as a master does.
func (w *googleWorld) admit(proof cloud.Proof) error {
	who, err := w.attestor.Attest(w.t.Context(), w.env.ClusterID, proof)
	if err != nil {
		return err
	}
	name, launched := w.Launched(who.Instance)
	if !launched {
		return fmt.Errorf("%s was not launched", who.Instance)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.agents[rm.AgentID(who.Instance)] = name
	return nil
}

// lose disconnects an agent and returns its allocations to the queue.
func (w *googleWorld) lose(id rm.AgentID) {
	delete(w.agents, id)
	for _, a := range w.allocations {
		if slices.ContainsFunc(a.Placement, func(s pool.Share) bool { return s.Agent == pool.AgentID(id) }) {
			a.State, a.Placement = pool.Pending, nil
		}
	}
}

// pass makes one scheduling pass in every pool, as agentrm does.
func (w *googleWorld) pass() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for name, shape := range w.shapes {
		if w.stopped {
			return
		}
		scene := pool.Pool{Scheduler: pool.Scheduler{Fitting: pool.Best, DefaultPriority: pool.DefaultPriority}, MaxAux: shape.Aux, Room: w.Room(name)}
		for id, of := range w.agents {
			a := pool.Agent{ID: pool.AgentID(id), Enabled: true, Draining: w.retired[id]}
			for slot := range shape.Slots {
				a.Slots = append(a.Slots, pool.Slot{ID: slot, Enabled: true})
			}
			if of == name {
				scene.Agents = append(scene.Agents, a)
			}
		}
		for id, a := range w.allocations {
			if w.pools[id] == name {
				scene.Allocations = append(scene.Allocations, *a)
			}
		}
		d := pool.Decide(scene, time.Now())
		for _, s := range d.Start {
			w.allocations[s.Allocation].State, w.allocations[s.Allocation].Placement = pool.Running, s.Placement
		}
		w.Decided(name, scene, d)
	}
}

// submit queues a task with one slot.
func (w *googleWorld) submit(id, poolName string) *googleWorld {
	w.mu.Lock()
	w.pools[pool.AllocationID(id)] = poolName
	w.allocations[pool.AllocationID(id)] = &pool.Allocation{
		ID: pool.AllocationID(id), Job: pool.JobID(id), Slots: 1, Priority: 42, Submitted: time.Now(), State: pool.Pending,
	}
	w.mu.Unlock()
	w.pass()
	return w
}

func (w *googleWorld) end(id string) *googleWorld {
	w.mu.Lock()
	delete(w.allocations, pool.AllocationID(id))
	w.mu.Unlock()
	w.pass()
	return w
}

// on returns the machine that runs a task, or "".
func (w *googleWorld) on(id string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if a := w.allocations[pool.AllocationID(id)]; a != nil && a.State == pool.Running {
		return string(a.Placement[0].Agent)
	}
	return ""
}

// whyRefused returns the error of a machine's last attempt to join.
func (w *googleWorld) whyRefused(name string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.refused[name]
}

func (w *googleWorld) Retire(id rm.AgentID) int {
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

func (w *googleWorld) Unretire(id rm.AgentID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.retired, id)
}

func (w *googleWorld) Remove(id rm.AgentID, reason string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.removed = append(w.removed, reason)
	delete(w.retired, id)
	w.lose(id)
}

func (w *googleWorld) Explain([]rm.AllocationID, rm.Wait) {}
func (w *googleWorld) Refuse(id rm.AllocationID, reason string) {
	w.t.Errorf("task %s is refused: %s", id, reason)
}
