package task_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/config/container"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/task"
	"github.com/det-deploy/det-deploy/master/task/lifecycle"
	"github.com/det-deploy/det-deploy/master/task/spec"
)

// owner is the owner of the trials of a test. It outlives the master, like the records that it stores.
type owner struct {
	mu      sync.Mutex // guards the fields below
	decide  func(task.RunEnd) task.Next
	decided map[string]task.Next
	asked   int
	fail    int    // the number of calls that fail
	lose    int    // the number of calls that decide but whose answer is lost
	meet    func() // called before it answers, may be nil
	refuse  error
	ends    []task.RunEnd
	changes []rm.Change

	policies []container.LogPolicy
	matches  []string
}

func newOwner(decide func(task.RunEnd) task.Next) *owner {
	return &owner{decide: decide, decided: map[string]task.Next{}}
}

func (o *owner) Run(_ context.Context, r task.RunOrder) (spec.Program, error) {
	cfg := spec.Merge(spec.Config{}, container.Default())
	return spec.Program{Config: cfg, Argv: []string{"train", fmt.Sprint(r.Run)}, HostNetwork: true}, o.refuse
}

func (o *owner) Context(context.Context, rm.TaskID) (int64, iter.Seq2[[]byte, error], error) {
	return 3, func(yield func([]byte, error) bool) { yield([]byte("abc"), nil) }, nil
}

func (o *owner) Ended(_ context.Context, e task.RunEnd) (task.Next, error) {
	if o.meet != nil {
		o.meet()
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.asked++; o.asked <= o.fail {
		return "", errors.New("the store does not answer")
	}
	key := fmt.Sprintf("%s/%d", e.Task, e.Run)
	if _, found := o.decided[key]; !found {
		o.decided[key] = o.decide(e)
		o.ends = append(o.ends, e)
	}
	if o.lose > 0 {
		o.lose--
		return "", errors.New("the connection was lost")
	}
	return o.decided[key], nil
}

func (o *owner) ChangeJob(_ context.Context, _ *apiv1.User, _ rm.JobID, c rm.Change) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.changes = append(o.changes, c)
	return nil
}

// newOwnedMaster returns a master with trials owned by o.
func newOwnedMaster(t testing.TB, o *owner) *master {
	m := &master{
		t: t, path: t.TempDir() + "/master.db", machine: newMachine(), doors: &doors{open: map[string]int{}},
		edit: func(*task.Config) {}, owner: o,
	}
	m.start()
	t.Cleanup(m.stop)
	return m
}

func trial(id rm.TaskID, run int) task.StartOrder {
	return task.StartOrder{
		Task: id, Kind: lifecycle.Trial, Job: "exp1", Run: run, Name: "Trial 1 (Experiment 1)", UserID: 7, Username: "ann",
		Workspace: 1, Submitted: time.Unix(1_790_000_000, 0), Pool: "gpu", Slots: 1, Weight: 1, Preemptible: true,
		PreemptionTimeout: time.Hour,
	}
}

func (m *master) begin(order task.StartOrder) {
	m.t.Helper()
	if err := m.tasks.Start(m.t.Context(), order); err != nil {
		m.t.Fatal(err)
	}
}

// play runs an allocation from its placement to its end.
func (m *master) play(id rm.AllocationID, code int32) {
	m.t.Helper()
	m.assign(id, 1)
	m.changed(id, 0, running, nil)
	m.changed(id, 0, terminated, exit(code))
	m.ended(id, rm.CauseExited, "")
}

func TestOwnerDecidesAfterARun(t *testing.T) {
	t.Parallel()
	o := newOwner(func(e task.RunEnd) task.Next { return []task.Next{task.Again, task.Hold, task.Done}[e.Run-1] })
	m := newOwnedMaster(t, o)
	m.begin(trial("1.a", 1))
	m.begin(trial("1.a", 1)) // repeated
	m.play("1.a.1", 1)
	m.play("1.a.2", 0)
	if s, _ := m.tasks.Status("1.a"); !s.Held || s.Run != 2 {
		t.Fatalf("got %+v, want it held after run 2", s)
	}
	m.begin(trial("1.a", 2)) // late: run 2 has ended
	if m.machine.has("1.a.3") {
		t.Fatal("a run that has ended was begun again")
	}
	m.begin(trial("1.a", 3))
	m.play("1.a.3", 0)
	if s, found := m.tasks.Status("1.a"); found {
		t.Fatalf("got %+v in memory after the end", s)
	}
	m.begin(trial("1.a", 3)) // late: the task has ended
	if _, found := m.tasks.Status("1.a"); found {
		t.Fatal("a task that has ended was made again")
	}
	var causes []string
	for _, e := range o.ends {
		causes = append(causes, fmt.Sprint(e.Run, " ", e.Cause, " ", *e.Code))
	}
	if d := cmp.Diff(causes, []string{"1 exited 1", "2 exited 0", "3 exited 0"}); d != "" {
		t.Errorf("reports to the owner (-got +want):\n%s", d)
	}
	if lines := m.lines("1.a"); !slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, "(id: 1.a.3)") }) {
		t.Errorf("its log cannot be read after its end: %q", lines)
	}
}

func TestOwnerIsAskedUntilItDecides(t *testing.T) {
	t.Parallel()
	o := newOwner(func(task.RunEnd) task.Next { return task.Again })
	m := newOwnedMaster(t, o)
	m.begin(trial("1.a", 1))
	m.assign("1.a.1", 1)
	m.changed("1.a.1", 0, terminated, exit(1))
	o.fail = 2
	end := rm.End{Cause: rm.CauseExited, At: time.Now()}
	for range 2 {
		if err := m.tasks.Ended(t.Context(), "1.a.1", end); err == nil {
			t.Fatal("the end was acknowledged before the owner has decided")
		}
	}
	m.restart()
	if !m.machine.has("1.a.2") {
		t.Fatal("got no second run after the restart")
	}
	if err := m.tasks.Ended(t.Context(), "1.a.1", end); err != nil {
		t.Fatal(err)
	}
	if len(o.ends) != 1 {
		t.Errorf("got %d decisions, want one", len(o.ends))
	}
}

func TestChangeOfJobAppliesToAllTasks(t *testing.T) {
	t.Parallel()
	o := newOwner(func(task.RunEnd) task.Next { return task.Hold })
	m := newOwnedMaster(t, o)
	for _, id := range []rm.TaskID{"1.a", "1.b"} {
		m.begin(trial(id, 1))
	}
	m.play("1.a.1", 0) // held now
	seven, none := 7, 0
	if err := m.tasks.ChangeJob(t.Context(), ann(), "exp1", rm.Change{Priority: &none}); err == nil {
		t.Error("got no refusal of priority 0")
	}
	if err := m.tasks.ChangeJob(t.Context(), ann(), "exp1", rm.Change{Priority: &seven}); err != nil || len(o.changes) != 1 {
		t.Fatalf("got %v and %d changes asked of the owner", err, len(o.changes))
	}
	if err := m.tasks.Change(t.Context(), "exp1", o.changes[0]); err != nil {
		t.Fatal(err)
	}
	m.machine = newMachine()
	m.restart()
	if r := m.machine.submitted["1.b.1"]; r.Priority != 7 || r.Job != "exp1" || r.Workspace != "Uncategorized" {
		t.Errorf("got %+v after a restart, want the priority that was set", r)
	}
}

func TestOwnedTasksAreShownWithoutConfiguration(t *testing.T) {
	t.Parallel()
	m := newOwnedMaster(t, newOwner(func(task.RunEnd) task.Next { return task.Done }))
	began := time.Now()
	order := trial("1.a", 1)
	order.Submitted = began.Add(-time.Hour) // when its experiment was created
	m.begin(order)
	spec := m.assign("1.a.1", 1)[0]
	if d := cmp.Diff(spec.GetEntrypoint(), []string{"train", "1"}); d != "" || spec.GetTaskType() != "TRIAL" {
		t.Errorf("it runs (-got +want):\n%s", d)
	}
	if s := m.summaries()["1.a.1"]; s.GetTaskId() != "1.a" || s.GetName() != "Trial 1 (Experiment 1)" {
		t.Errorf("got %v in the list of allocations", s)
	}
	if c := m.commands(); len(c) != 0 {
		t.Errorf("got %d commands, want none", len(c))
	}
	r, err := m.tasks.Task(t.Context(), "1.a")
	if err != nil || r.GetTask().GetTaskType() != apiv1.TaskType_TASK_TYPE_TRIAL || r.GetTask().Config != nil {
		t.Errorf("got %v and %v", r, err)
	}
	registered := m.summaries()["1.a.1"].GetRegisteredTime().AsTime()
	if start := r.GetTask().GetStartTime().AsTime(); !start.Equal(registered) || start.Before(began) || start.Equal(start.Truncate(time.Millisecond)) {
		t.Errorf("got the start %v and the registration %v, want that of the task, after %v and in full precision", start, registered, began)
	}
	m.play("1.a.1", 0)
	if s := m.summaries(); len(s) != 0 {
		t.Errorf("got %v after its end, want nothing", s)
	}
	if r, err := m.tasks.Task(t.Context(), "1.a"); err != nil || r.GetTask().GetEndTime() == nil {
		t.Errorf("got %v and %v after its end", r, err)
	}
}

func TestOwnerErrorEndsTheRun(t *testing.T) {
	t.Parallel()
	o := newOwner(func(task.RunEnd) task.Next { return task.Done })
	m := newOwnedMaster(t, o)
	m.begin(trial("1.a", 1))
	o.refuse = errors.New("the checkpoint is being deleted")
	if _, err := m.tasks.Assigned(t.Context(), assignment("1.a.1", 1)); err == nil || !strings.Contains(err.Error(), "is being deleted") {
		t.Errorf("got %v", err)
	}
}

func TestOwnerOperationsReachTheAllocation(t *testing.T) {
	t.Parallel()
	m := newOwnedMaster(t, newOwner(func(task.RunEnd) task.Next { return task.Hold }))
	for range 2 { // operations on absent objects return no error
		if err := errors.Join(m.tasks.Signal(t.Context(), "1.a", "paused"), m.tasks.End(t.Context(), "1.a", "killed")); err != nil {
			t.Fatal(err)
		}
	}
	m.begin(trial("1.a", 1))
	m.assign("1.a.1", 1)
	if err := m.tasks.Signal(t.Context(), "1.a", "the experiment was paused"); err != nil {
		t.Fatal(err)
	}
	if m.machine.preempts["1.a.1"] != "the experiment was paused" {
		t.Errorf("got %q", m.machine.preempts)
	}
	if err := m.tasks.End(t.Context(), "1.a", "killed by ann"); err != nil {
		t.Fatal(err)
	}
	m.machine = newMachine()
	m.restart() // the request is stored
	if m.machine.killed("1.a.1") != "killed by ann" {
		t.Errorf("got %q after a restart", m.machine.kills)
	}
	if err := m.tasks.Forget(t.Context(), "1.a"); err == nil {
		t.Error("a task that has not ended was forgotten")
	}
}

// Programs of trials listen on the network of their machine, where each trial has its own ports.
func TestTrialGetsRequestedPorts(t *testing.T) {
	t.Parallel()
	m := newOwnedMaster(t, newOwner(func(task.RunEnd) task.Next { return task.Done }))
	m.begin(trial("1.a", 1))
	if d := cmp.Diff(m.machine.submitted["1.a.1"].Ports, []int{12350, 12360, 12365, 29400}); d != "" {
		t.Errorf("it asks for (-got +want):\n%s", d)
	}
	specs, err := m.tasks.Assigned(t.Context(), rm.Assignment{
		Allocation: "1.a.1", Pool: "gpu", Containers: []rm.Container{{ID: "c", Agent: "a"}}, Ports: []int{12351, 12361, 12366, 29407}, At: time.Now(),
	})
	if err != nil || !slices.Contains(specs[0].GetEnvironment(), "C10D_PORT=29407") {
		t.Errorf("got %v, %v", specs, err)
	}
}

// The containers of a trial reach each other on the network of their machines if they have assigned
// ports there, otherwise on the container network.
func TestHostNetworkNeedsAssignedPorts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		containers int
		ports      []int
		want       string
	}{{1, []int{1, 2, 3, 4}, "bridge"}, {2, []int{1, 2, 3, 4}, "host"}, {2, nil, "bridge"}} {
		m := newOwnedMaster(t, newOwner(func(task.RunEnd) task.Next { return task.Done }))
		m.begin(trial("1.a", 1))
		as := rm.Assignment{Allocation: "1.a.1", Pool: "gpu", Ports: c.ports, At: time.Now()}
		for i := range c.containers {
			as.Containers = append(as.Containers, rm.Container{ID: rm.ContainerID(fmt.Sprint("c", i)), Agent: "a", Rank: i})
		}
		specs, err := m.tasks.Assigned(t.Context(), as)
		if err != nil || specs[0].GetNetworkMode() != c.want {
			t.Errorf("%d containers with ports %v: got %q, %v, want %q", c.containers, c.ports, specs[0].GetNetworkMode(), err, c.want)
		}
	}
}

// One experiment that cannot decide must not keep the cluster from starting.
func TestFailingOwnerDoesNotBlockOtherTasks(t *testing.T) {
	t.Parallel()
	o := newOwner(func(task.RunEnd) task.Next { return task.Again })
	m := newOwnedMaster(t, o)
	for _, id := range []rm.TaskID{"1.a", "1.b"} {
		m.begin(trial(id, 1))
	}
	if err := m.tasks.End(t.Context(), "1.a", "killed"); err != nil { // it was never placed
		t.Fatal(err)
	}
	m.machine = newMachine() // only the tasks know about it
	o.fail = 1 << 20
	m.restart()
	if !m.machine.has("1.b.1") || m.machine.has("1.a.1") {
		t.Fatal("the other task is not queued")
	}
	o.fail = 0
	if _, err := m.tasks.Collect(t.Context(), time.Now(), 0); err != nil {
		t.Fatal(err)
	}
	if !m.machine.has("1.a.2") {
		t.Error("the owner was not asked again")
	}
}

// The resource manager and a repeated Start may ask concurrently, and the slower one finds the next run
// placed.
func TestConcurrentDecisionsAreCarriedOutOnce(t *testing.T) {
	t.Parallel()
	o := newOwner(func(task.RunEnd) task.Next { return task.Again })
	m := newOwnedMaster(t, o)
	m.begin(trial("1.a", 1))
	m.assign("1.a.1", 1)
	m.changed("1.a.1", 0, terminated, exit(1))
	asked, release, failed := make(chan struct{}), make(chan struct{}), make(chan error)
	var again atomic.Bool
	o.meet = func() {
		if !again.Swap(true) { // the slower one
			close(asked)
			<-release
		}
	}
	tell := func() error {
		return m.tasks.Ended(t.Context(), "1.a.1", rm.End{Cause: rm.CauseExited, At: time.Now()})
	}
	go func() { failed <- tell() }()
	<-asked
	m.must(tell)
	m.assign("1.a.2", 1)
	m.changed("1.a.2", 0, running, nil)
	close(release)
	if err := <-failed; err != nil {
		t.Error(err)
	}
	if s, _ := m.tasks.Status("1.a"); s.Run != 2 || s.State != lifecycle.Running {
		t.Errorf("got %+v, want one second run, which runs", s)
	}
}

func TestHeldTaskIsEndedByOwner(t *testing.T) {
	t.Parallel()
	o := newOwner(func(task.RunEnd) task.Next { return task.Hold })
	m := newOwnedMaster(t, o)
	m.begin(trial("1.a", 1))
	m.play("1.a.1", 0)
	m.restart()
	done, err := m.tasks.Done(t.Context(), "1.a")
	if err != nil {
		t.Fatal(err)
	}
	if held := m.tasks.Held("exp1"); !slices.Equal(held, []rm.TaskID{"1.a"}) {
		t.Fatalf("got %v held, want 1.a", held)
	}
	if err := m.tasks.Forget(t.Context(), "1.a"); err == nil {
		t.Error("a task that has not ended was forgotten")
	}
	for range 2 { // repeated
		if err := m.tasks.End(t.Context(), "1.a", "its trial has ended"); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case <-done:
	default:
		t.Error("readers of its log wait for more")
	}
	if held := m.tasks.Held("exp1"); len(held) != 0 {
		t.Errorf("got %v held after the end", held)
	}
	m.restart()
	m.begin(trial("1.a", 2)) // late: the task has ended
	if _, found := m.tasks.Status("1.a"); found {
		t.Error("a task that has ended was made again")
	}
	if err := m.tasks.Forget(t.Context(), "1.a"); err != nil {
		t.Error(err)
	}
}
