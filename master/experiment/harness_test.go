package experiment

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/checkpoint"
	"github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/config/container"
	"github.com/det-deploy/det-deploy/master/config/security"
	"github.com/det-deploy/det-deploy/master/experiment/lifecycle"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/log"
	"github.com/det-deploy/det-deploy/master/metric"
	"github.com/det-deploy/det-deploy/master/quota"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/master/task"
	tasklife "github.com/det-deploy/det-deploy/master/task/lifecycle"
	"github.com/det-deploy/det-deploy/master/token"
	"github.com/det-deploy/det-deploy/master/workspace"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// machine implements rm.ResourceManager. It survives restarts of the master.
type machine struct {
	mu       sync.Mutex // guards the fields below
	order    []rm.AllocationID
	past     map[rm.AllocationID]bool
	known    map[rm.AllocationID]rm.Request
	preempts map[rm.AllocationID]string
	kills    map[rm.AllocationID]string
	changes  map[rm.JobID]rm.Change
	// invalid is returned for requests, unchanging for changes.
	invalid, unchanging error
}

func newMachine() *machine {
	return &machine{
		past: map[rm.AllocationID]bool{}, known: map[rm.AllocationID]rm.Request{}, preempts: map[rm.AllocationID]string{},
		kills: map[rm.AllocationID]string{}, changes: map[rm.JobID]rm.Change{},
	}
}

func (m *machine) Validate(rm.Request) error { return m.invalid }

func (m *machine) Submit(_ context.Context, r rm.Request) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.past[r.Allocation] {
		return nil // submitted again while it ended
	}
	if _, found := m.known[r.Allocation]; !found {
		m.order = append(m.order, r.Allocation)
	}
	m.known[r.Allocation] = r
	return nil
}

func (m *machine) Kill(_ context.Context, id rm.AllocationID, reason string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kills[id] = reason
	return nil
}

func (m *machine) Preempt(_ context.Context, id rm.AllocationID, reason string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.preempts[id] = reason
	return nil
}

func (m *machine) Change(_ context.Context, id rm.JobID, c rm.Change) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.unchanging != nil {
		return m.unchanging
	}
	m.changes[id] = c
	return nil
}

func (m *machine) Allocation(id rm.AllocationID) (rm.Allocation, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, found := m.known[id]
	return rm.Allocation{Request: r, Pool: r.Pool}, found
}

func (m *machine) Priority(id rm.AllocationID) (int, bool) {
	a, found := m.Allocation(id)
	return a.Priority, found
}

func (m *machine) PriorityChanges() uint64 { return 0 }

func (m *machine) Queue(rm.QueuePart) []*apiv1.Job { return nil }

func (m *machine) Pools() []*apiv1.ResourcePool { return nil }

func (m *machine) PoolSettings() []rm.PoolSettings {
	return []rm.PoolSettings{{Name: "aux", DefaultAux: true}, {Name: "gpu", DefaultCompute: true, DefaultPriority: 42}}
}

// open returns the allocations that have not ended, in the order of submission.
func (m *machine) open() []rm.AllocationID {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.order)
}

func (m *machine) forget(id rm.AllocationID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.known, id)
	m.past[id] = true
	m.order = slices.DeleteFunc(m.order, func(other rm.AllocationID) bool { return other == id })
}

func (m *machine) asked(id rm.AllocationID) (preempt, kill bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, preempt = m.preempts[id]
	_, kill = m.kills[id]
	return preempt, kill
}

// tokens accepts every token.
type tokens struct{}

func (tokens) Administrator(id int32) bool { return id == 1 }

func (tokens) NewTaskTokens(int32, string) (own, user token.Text, keep func(*store.Tx) error, err error) {
	return "own", "user", nil, nil
}

func (tokens) DropAllocation(string) (drop func(*store.Tx) error) { return nil }

// users knows only ann.
type users struct{}

func (users) User(id int32) (*apiv1.User, error) { return &apiv1.User{Id: id, Username: "ann"}, nil }

// world is a master with its machines. restart discards the state that kill -9 would discard.
type world struct {
	testing.TB

	path    string
	machine *machine
	now     time.Time
	// own wraps the owner of tasks; it may be nil.
	own func(task.Owner) task.Owner
	// limit is the quota of each user in bytes, 0 for no limit. uncounted simulates a version
	// without quotas.
	limit     int64
	uncounted bool

	store *store.Store
	quota *quota.Quota
	logs  *log.Logs
	tasks *task.Tasks
	spots *workspace.Workspaces
	ckpts *checkpoint.Checkpoints
	x     *Experiments
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{TB: t, path: filepath.Join(t.TempDir(), "master.db"), machine: newMachine(), now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	w.start()
	t.Cleanup(w.stop)
	return w
}

func (w *world) clock() time.Time { return w.now }

func (w *world) start() {
	w.Helper()
	ctx := w.Context()
	must := func(err error) {
		w.Helper()
		if err != nil {
			w.Fatal(err)
		}
	}
	var err error
	w.store, err = store.Open(ctx, store.Config{Path: w.path})
	must(err)
	_, err = w.store.Acquire(ctx, "test")
	must(err)
	if w.quota = nil; !w.uncounted {
		w.quota, err = quota.Open(ctx, w.store, w.limit)
		must(err)
	}
	w.logs = log.New(ctx, w.store)
	w.spots, err = workspace.Open(ctx, workspace.Config{Store: w.store, Users: users{}})
	must(err)
	w.tasks, err = task.Open(ctx, task.Config{
		Store: w.store, Logs: w.logs, Tokens: tokens{}, OpenWorkspace: w.spots.OpenWorkspace, Quota: w.quota,
		Defaults:    func(string) container.Defaults { return container.Default() },
		DefaultUser: security.AgentUser{User: "root", Group: "root"},
	})
	must(err)
	w.ckpts, err = checkpoint.New(checkpoint.Config{Store: w.store, Tasks: w.tasks, Workspace: func(int32) (int32, error) { return 1, nil }})
	must(err)
	metrics := metric.Open(w.store)
	metrics.LimitUsers(w.quota)
	w.x, err = Open(ctx, Config{
		Store: w.store, Tasks: w.tasks, Metrics: metrics, Checkpoints: w.ckpts, Places: w.spots, Quota: w.quota, Now: w.clock,
		Storage: &config.CheckpointStorage{Directory: &config.DirectoryStorage{ContainerPath: "/checkpoints"}},
	})
	must(err)
	w.logs.LimitUsers(w.quota, func(ctx context.Context, id string) (quota.User, error) {
		if u, found := w.x.OwnerOfLog(id); found {
			return u, nil
		}
		return w.tasks.OwnerOfLog(ctx, id)
	})
	var owner task.Owner = w.x
	if w.own != nil {
		owner = w.own(owner)
	}
	w.tasks.Own(tasklife.Trial, owner)
	w.tasks.Own(tasklife.CheckpointGC, w.ckpts.Owner())
	must(w.tasks.Attach(ctx, w.machine))
}

func (w *world) stop() {
	w.logs.Close()
	if err := w.store.Close(); err != nil {
		w.Error(err)
	}
}

func (w *world) restart() {
	w.Helper()
	w.stop()
	w.start()
}

// reconcile reconciles every experiment once.
func (w *world) reconcile() {
	w.Helper()
	for _, e := range w.x.reconciler.reg.all() {
		if err := w.x.reconcile(w.Context(), e.id); err != nil {
			w.Fatal(err)
		}
	}
}

func ann() *apiv1.User  { return &apiv1.User{Id: 7, Username: "ann"} }
func bob() *apiv1.User  { return &apiv1.User{Id: 8, Username: "bob"} }
func root() *apiv1.User { return &apiv1.User{Id: 1, Username: "admin", Admin: true} }

const single = `
name: one
entrypoint: python3 train.py
searcher: {name: single, metric: loss}
hyperparameters: {lr: 0.1}
max_restarts: 2
resources: {slots_per_trial: 1}
`

func (w *world) create(yaml string) View {
	w.Helper()
	return w.createOrder(Order{By: ann(), Config: yaml, Activate: true})
}

func (w *world) createOrder(o Order) View {
	w.Helper()
	made, err := w.x.Create(w.Context(), o)
	if err != nil {
		w.Fatal(err)
	}
	w.reconcile()
	return made.View
}

// get returns an experiment with its trials.
func (w *world) get(id int32) (View, []TrialView) {
	w.Helper()
	v, err := w.x.Get(id)
	if err != nil {
		w.Fatal(err)
	}
	trials, err := w.x.Trials(w.Context(), id)
	if err != nil {
		w.Fatal(err)
	}
	return v, trials
}

func (w *world) trial(id int32) TrialView {
	w.Helper()
	t, err := w.x.Trial(w.Context(), id)
	if err != nil {
		w.Fatal(err)
	}
	return t
}

// allocationOf returns the open allocation of a trial, or "".
func (w *world) allocationOf(t TrialView) rm.AllocationID {
	for _, id := range w.machine.open() {
		if r, found := w.machine.Allocation(id); found && string(r.Request.Task) == t.Task() {
			return id
		}
	}
	return ""
}

// place starts the run of a trial.
func (w *world) place(trial int32) rm.AllocationID {
	w.Helper()
	id := w.allocationOf(w.trial(trial))
	if id == "" {
		w.Fatalf("trial %d has no allocation", trial)
	}
	w.placeAllocation(id)
	return id
}

func (w *world) placeAllocation(id rm.AllocationID) {
	w.Helper()
	w.assign(id)
	w.changed(id, apiv1.Container_STATE_RUNNING, nil)
}

func (w *world) assign(id rm.AllocationID) {
	w.Helper()
	as := rm.Assignment{Allocation: id, Pool: "gpu", At: w.now, Containers: []rm.Container{{
		ID: containerID(id), Agent: "a1", Devices: []*apiv1.Device{{Type: apiv1.Device_TYPE_CPU}},
	}}}
	if _, err := w.tasks.Assigned(w.Context(), as); err != nil {
		w.Fatal(err)
	}
}

func containerID(id rm.AllocationID) rm.ContainerID { return rm.ContainerID("c-" + string(id)) }

func (w *world) changed(id rm.AllocationID, s apiv1.Container_State, exit *agentv1.Exit) {
	w.Helper()
	err := w.tasks.Changed(w.Context(), rm.ContainerChange{Allocation: id, Container: containerID(id), Agent: "a1", State: s, Exit: exit, At: w.now})
	if err != nil {
		w.Fatal(err)
	}
}

// exit ends a run with an exit code.
func (w *world) exit(id rm.AllocationID, code int32) {
	w.Helper()
	w.changed(id, apiv1.Container_STATE_TERMINATED, &agentv1.Exit{Kind: agentv1.Exit_KIND_EXITED, Code: code})
	w.end(id, rm.CauseExited)
}

func (w *world) end(id rm.AllocationID, cause rm.Cause) {
	w.Helper()
	w.endQuietly(id, cause)
	w.reconcile()
}

// endQuietly ends a run without reconciling.
func (w *world) endQuietly(id rm.AllocationID, cause rm.Cause) {
	w.Helper()
	w.machine.forget(id)
	if err := w.tasks.Ended(w.Context(), id, rm.End{Cause: cause, Reason: string(cause), At: w.now}); err != nil {
		w.Fatal(err)
	}
}

// heed acknowledges the signal and exits with 0.
func (w *world) heed(id rm.AllocationID) {
	w.Helper()
	if asked, _ := w.machine.asked(id); !asked {
		w.Fatalf("allocation %s was not asked to stop", id)
	}
	w.heedQuietly(id)
	w.reconcile()
}

// heedQuietly is heed without reconciling.
func (w *world) heedQuietly(id rm.AllocationID) {
	w.Helper()
	if _, err := w.tasks.Preempted(w.Context(), id, "asked", w.now.Add(time.Hour)); err != nil {
		w.Fatal(err)
	}
	if err := w.tasks.AckPreemption(w.Context(), string(id)); err != nil {
		w.Fatal(err)
	}
	w.changed(id, apiv1.Container_STATE_TERMINATED, &agentv1.Exit{Kind: agentv1.Exit_KIND_EXITED})
	w.endQuietly(id, rm.CauseExited)
}

// report reports a validation of a trial's current run.
func (w *world) report(trial, steps int32, metrics map[string]any) {
	w.Helper()
	if err := w.tryReport(trial, steps, metrics); err != nil {
		w.Fatal(err)
	}
	w.reconcile()
}

func (w *world) tryReport(trial, steps int32, metrics map[string]any) error {
	return w.reportRun(trial, w.trial(trial).Life.Run, steps, metrics)
}

// reportRun reports a validation of one run of a trial.
func (w *world) reportRun(trial int32, run int, steps int32, metrics map[string]any) error {
	return w.x.Report(w.Context(), metric.Report{
		Trial: int64(trial), Run: int64(run), Group: metric.Validation, Steps: int64(steps), At: w.now,
		Values: metric.Values{Averages: metrics},
	})
}

func (w *world) ask(id int32, r lifecycle.Request) {
	w.Helper()
	if err := w.x.Ask(w.Context(), ann(), id, r); err != nil {
		w.Fatal(err)
	}
	w.reconcile()
}

// save reports a checkpoint of a trial.
func (w *world) save(trial, steps int32) string {
	w.Helper()
	t := w.trial(trial)
	id := fmt.Sprintf("00000000-0000-4000-8000-%06d%06d", trial, steps)
	rec := checkpoint.Record{UUID: id, Experiment: t.Experiment, Trial: trial, Task: t.Task(), Reported: w.now, State: checkpoint.Completed, Steps: steps}
	err := w.x.Checkpointed(w.Context(), Checkpointed{UUID: id, Trial: trial, Steps: steps}, func(ctx context.Context, tx *store.Tx) error {
		return checkpoint.Put(ctx, tx, rec)
	})
	if err != nil {
		w.Fatal(err)
	}
	return id
}

func (w *world) wantState(id int32, want lifecycle.State) (View, []TrialView) {
	w.Helper()
	v, trials := w.get(id)
	if v.State != want {
		w.Errorf("experiment %d: got %s (%s), want %s", id, v.State, v.Failure, want)
	}
	return v, trials
}

func (w *world) kinds(id int32) []record.Kind {
	w.Helper()
	events, err := w.x.History(w.Context(), id)
	if err != nil {
		w.Fatal(err)
	}
	var out []record.Kind
	for i, e := range events {
		if e.Number != i+1 {
			w.Errorf("event %d has number %d", i+1, e.Number)
		}
		out = append(out, e.Kind)
	}
	return out
}
