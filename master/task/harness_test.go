package task_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/config/container"
	"github.com/det-deploy/det-deploy/master/config/security"
	"github.com/det-deploy/det-deploy/master/log"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/master/task"
	"github.com/det-deploy/det-deploy/master/task/lifecycle"
	"github.com/det-deploy/det-deploy/master/token"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// machine implements rm.ResourceManager: its queue outlives the master.
type machine struct {
	mu        sync.Mutex // guards the fields below
	submitted map[rm.AllocationID]rm.Request
	submits   int
	kills     map[rm.AllocationID]string
	preempts  map[rm.AllocationID]string
	invalid   error
	refuse    error
	remarks   []string
	claim     error // the error for any volume claim
	priority  int   // of all allocations; 0 means 42
	changes   uint64
	changed   rm.Change // the last one
	// unchangeable is the error of changes.
	unchangeable error
}

var (
	_ rm.Remarks = (*machine)(nil)
	_ rm.Claims  = (*machine)(nil)
)

func (m *machine) Remarks(rm.Request) []string { return m.remarks }

func (m *machine) CheckClaim(string) error { return m.claim }

func newMachine() *machine {
	return &machine{submitted: map[rm.AllocationID]rm.Request{}, kills: map[rm.AllocationID]string{}, preempts: map[rm.AllocationID]string{}}
}

func (m *machine) Validate(rm.Request) error { return m.invalid }

func (m *machine) Submit(_ context.Context, r rm.Request) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.submits++
	if m.refuse == nil {
		m.submitted[r.Allocation] = r
	}
	return m.refuse
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
	if m.changed = c; m.unchangeable != nil {
		return m.unchangeable
	}
	for _, r := range m.submitted {
		if r.Job == id {
			return nil
		}
	}
	return rm.ErrUnknownJob
}

func (m *machine) Allocation(id rm.AllocationID) (rm.Allocation, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, found := m.submitted[id]
	return rm.Allocation{Request: r, Pool: r.Pool, Priority: cmp.Or(m.priority, 42), Waiting: "no agent is connected"}, found
}

func (m *machine) Priority(id rm.AllocationID) (int, bool) {
	a, found := m.Allocation(id)
	return a.Priority, found
}

func (m *machine) PriorityChanges() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.changes
}

// setPriority simulates a change of all jobs.
func (m *machine) setPriority(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.priority = n
	m.changes++
}

func (m *machine) Queue(rm.QueuePart) []*apiv1.Job { return nil }

func (m *machine) Pools() []*apiv1.ResourcePool { return nil }

func (m *machine) PoolSettings() []rm.PoolSettings {
	return []rm.PoolSettings{{Name: "aux", DefaultAux: true}, {Name: "gpu", DefaultCompute: true}}
}

func (m *machine) killed(id rm.AllocationID) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.kills[id]
}

func (m *machine) has(id rm.AllocationID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, found := m.submitted[id]
	return found
}

// doors implements Tokens and counts the valid tokens.
type doors struct {
	mu   sync.Mutex // guards open
	open map[string]int
}

// administrator is the id of the administrator in every test.
const administrator = int32(1)

func (d *doors) Administrator(id int32) bool { return id == administrator }

func (d *doors) NewTaskTokens(_ int32, allocation string) (own, user token.Text, keep func(*store.Tx) error, err error) {
	keep = func(tx *store.Tx) error {
		tx.OnEnd(func(err error) {
			d.mu.Lock()
			defer d.mu.Unlock()
			if err == nil {
				d.open[allocation]++
			}
		})
		return nil
	}
	return token.Text("own-" + allocation), token.Text("user-" + allocation), keep, nil
}

func (d *doors) DropAllocation(allocation string) (drop func(*store.Tx) error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.open, allocation)
	return func(*store.Tx) error { return nil }
}

// master is a master process; path, machine and doors survive when it is killed.
type master struct {
	t       testing.TB
	path    string
	machine *machine
	doors   *doors
	edit    func(*task.Config)
	owner   *owner // of trials, nil for none
	written int    // summaries

	store *store.Store
	logs  *log.Logs
	tasks *task.Tasks
}

func newMaster(t testing.TB) *master {
	m := &master{
		t: t, path: filepath.Join(t.TempDir(), "master.db"), machine: newMachine(), doors: &doors{open: map[string]int{}},
		edit: func(*task.Config) {},
	}
	m.start()
	t.Cleanup(m.stop)
	return m
}

func (m *master) start() {
	m.t.Helper()
	m.open()
	if err := m.tasks.Attach(m.t.Context(), m.machine); err != nil {
		m.t.Fatal(err)
	}
}

func (m *master) open() {
	m.t.Helper()
	s, err := store.Open(m.t.Context(), store.Config{Path: m.path})
	if err != nil {
		m.t.Fatal(err)
	}
	if _, err := s.Acquire(m.t.Context(), "test"); err != nil {
		m.t.Fatal(err)
	}
	m.store, m.logs = s, log.New(m.t.Context(), s)
	c := task.Config{
		Store: s, Logs: m.logs, Tokens: m.doors, LaunchError: true,
		Defaults:    func(string) container.Defaults { return container.Default() },
		DefaultUser: security.AgentUser{User: "root", Group: "root"},
	}
	m.edit(&c)
	if m.tasks, err = task.Open(m.t.Context(), c); err != nil {
		m.t.Fatal(err)
	}
	if m.owner != nil {
		m.tasks.Own(lifecycle.Trial, m.owner)
	}
}

func (m *master) stop() {
	m.logs.Close()
	if err := m.store.Close(); err != nil {
		m.t.Error(err)
	}
}

// restart starts a new process on the same store and machines.
func (m *master) restart() {
	m.t.Helper()
	m.stop()
	m.start()
}

func ann() *apiv1.User  { return &apiv1.User{Id: 7, Username: "ann"} }
func bob() *apiv1.User  { return &apiv1.User{Id: 8, Username: "bob"} }
func root() *apiv1.User { return &apiv1.User{Id: 1, Username: "admin", Admin: true} }

func command(t testing.TB, text string) *apiv1.LaunchCommandRequest {
	t.Helper()
	s := &structpb.Struct{}
	if err := s.UnmarshalJSON([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return &apiv1.LaunchCommandRequest{Config: s}
}

func (m *master) launch(text string) *apiv1.LaunchCommandResponse {
	m.t.Helper()
	r, err := m.tasks.Launch(m.t.Context(), ann(), command(m.t, text), nil)
	if err != nil {
		m.t.Fatal(err)
	}
	return r
}

func first(id string) rm.AllocationID { return rm.AllocationID(id + ".1") }

func (m *master) assign(id rm.AllocationID, containers int) []*agentv1.Spec {
	m.t.Helper()
	specs, err := m.tasks.Assigned(m.t.Context(), assignment(id, containers))
	if err != nil {
		m.t.Fatal(err)
	}
	return specs
}

func assignment(id rm.AllocationID, containers int) rm.Assignment {
	as := rm.Assignment{Allocation: id, Pool: "gpu", At: time.Now()}
	for i := range containers {
		as.Containers = append(as.Containers, rm.Container{
			ID: containerID(id, i), Agent: "a1", Rank: i, Devices: []*apiv1.Device{{Id: 0, Type: apiv1.Device_TYPE_CPU}},
		})
	}
	return as
}

func containerID(id rm.AllocationID, rank int) rm.ContainerID {
	return rm.ContainerID(fmt.Sprintf("c%d-%s", rank, id))
}

func (m *master) changed(id rm.AllocationID, rank int, s apiv1.Container_State, exit *agentv1.Exit) {
	m.t.Helper()
	err := m.tasks.Changed(m.t.Context(), rm.ContainerChange{
		Allocation: id, Container: containerID(id, rank), Agent: "a1", Rank: rank, State: s, Exit: exit, At: time.Now(),
	})
	if err != nil {
		m.t.Fatal(err)
	}
}

func exit(code int32) *agentv1.Exit {
	return &agentv1.Exit{Kind: agentv1.Exit_KIND_EXITED, Code: code}
}

func (m *master) ended(id rm.AllocationID, cause rm.Cause, reason string) {
	m.t.Helper()
	if err := m.tasks.Ended(m.t.Context(), id, rm.End{Cause: cause, Reason: reason, At: time.Now()}); err != nil {
		m.t.Fatal(err)
	}
}

// lines returns the lines of a task's log with their levels.
func (m *master) lines(id string) []string {
	m.t.Helper()
	seq, err := m.tasks.Log(m.t.Context(), log.Filter{Task: id}, false)
	if err != nil {
		m.t.Fatal(err)
	}
	var out []string
	for e, err := range seq {
		if err != nil {
			m.t.Fatal(err)
		}
		out = append(out, string(e.Level)+" "+e.Text)
	}
	return out
}

func (m *master) command(id string) *apiv1.Command {
	m.t.Helper()
	r, err := m.tasks.Command(m.t.Context(), id)
	if err != nil {
		m.t.Fatal(err)
	}
	return r.GetCommand()
}

var errRefused = errors.New("no such resource pool")

// commands returns all listed commands.
func (m *master) commands() []*apiv1.Command {
	m.t.Helper()
	list, err := m.tasks.Commands(m.t.Context(), task.CommandQuery{Cut: func(n int) (from, to int) { return 0, n }})
	if err != nil {
		m.t.Fatal(err)
	}
	return list
}

// summaries returns the summaries of allocations that have not ended, by id.
func (m *master) summaries() map[string]*apiv1.AllocationSummary {
	out := map[string]*apiv1.AllocationSummary{}
	for text, err := range m.tasks.Summaries(func(b []byte, s *apiv1.AllocationSummary) ([]byte, error) {
		m.written++
		return proto.MarshalOptions{}.MarshalAppend(b, s)
	}) {
		s := &apiv1.AllocationSummary{}
		if err := errors.Join(err, proto.Unmarshal(text, s)); err != nil {
			m.t.Fatal(err)
		}
		out[s.GetAllocationId()] = s
	}
	return out
}

func (m *machine) preempted(id rm.AllocationID) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.preempts[id]
}

func (m *machine) forgetPreempts() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.preempts)
}

func (m *machine) request(id rm.AllocationID) rm.Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.submitted[id]
}

// withdraw removes a request.
func (m *machine) withdraw(id rm.AllocationID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.submitted, id)
}
