package pods_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"

	"github.com/det-deploy/det-deploy/k8s/gang"
	"github.com/det-deploy/det-deploy/k8s/pods"
	"github.com/det-deploy/det-deploy/k8s/podspec"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/test/kubetest"
)

// cluster is shared by all tests here that need one.
var cluster = kubetest.Share()

// The tests mostly wait for the API server, so that more of them run in parallel than there are
// processors.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "6"); err != nil {
		panic(err)
	}
	cluster.Main(m)
}

// owner owns the tasks, like master/task, but without a store. It outlives the resource managers
// that report to it.
type owner struct {
	t  testing.TB
	mu sync.Mutex // guards the fields below
	// tasks are all submitted allocations.
	tasks map[rm.AllocationID]*owned
	lines map[string][]string
	// program returns the spec of a task on real nodes; nil for simulated nodes.
	program func(rm.Request) *agentv1.Spec
}

// owned records the reports about one allocation.
type owned struct {
	rm.Request
	assigned []rm.Container
	states   map[rm.ContainerID][]apiv1.Container_State
	nodes    map[rm.ContainerID]rm.AgentID
	hosts    map[rm.ContainerID]string
	exits    map[rm.ContainerID]*agentv1.Exit
	waits    []string
	listens  bool
	warned   string
	end      *rm.End
	ends     int
}

func newOwner(t testing.TB) *owner {
	return &owner{t: t, tasks: make(map[rm.AllocationID]*owned), lines: make(map[string][]string)}
}

func (o *owner) Assigned(_ context.Context, a rm.Assignment) ([]*agentv1.Spec, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	w := o.tasks[a.Allocation]
	if w == nil {
		return nil, errors.New("it is not known")
	}
	for i, c := range w.assigned {
		if c.ID != a.Containers[i].ID {
			o.t.Errorf("container %d of %s was %s and is %s", i, a.Allocation, c.ID, a.Containers[i].ID)
		}
	}
	w.assigned = a.Containers
	specs := make([]*agentv1.Spec, len(a.Containers))
	for i := range specs {
		specs[i] = &agentv1.Spec{Image: "example/task:1", Entrypoint: []string{"/task"}, TaskType: "COMMAND"}
		if o.program != nil {
			specs[i] = o.program(w.Request)
		}
	}
	return specs, nil
}

func (o *owner) Changed(_ context.Context, c rm.ContainerChange) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	w := o.tasks[c.Allocation]
	if w == nil || w.end != nil {
		return nil
	}
	seen := w.states[c.Container]
	if len(seen) > 0 && seen[len(seen)-1] >= c.State {
		return nil // repeated
	}
	w.states[c.Container] = append(seen, c.State)
	w.nodes[c.Container] = c.Agent
	if c.Host != "" {
		w.hosts[c.Container] = c.Host
	}
	if c.State == apiv1.Container_STATE_TERMINATED {
		w.exits[c.Container] = c.Exit
	}
	return nil
}

func (o *owner) Preempted(_ context.Context, id rm.AllocationID, reason string, _ time.Time) (bool, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.tasks[id].warned = reason
	return o.tasks[id].listens, nil
}

func (o *owner) Waits(_ context.Context, id rm.AllocationID, w rm.Wait) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.tasks[id].waits = append(o.tasks[id].waits, w.Kind+": "+w.Reason)
	return nil
}

func (o *owner) Ended(_ context.Context, id rm.AllocationID, e rm.End) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	w := o.tasks[id]
	if w.end == nil {
		w.end = &e
	}
	w.ends++
	return nil
}

func (o *owner) AppendLogs(_ context.Context, _ rm.AgentID, l *agentv1.Logs) (uint64, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	have := o.lines[l.GetContainerId()]
	for i, line := range l.GetLines() {
		switch n := int(l.GetFirstSeq()) + i; {
		case n < len(have):
			if have[n] != string(line.GetText()) {
				o.t.Errorf("line %d of %s was %q and is sent again as %q", n, l.GetContainerId(), have[n], line.GetText())
			}
		case n == len(have):
			have = append(have, string(line.GetText()))
		default:
			return uint64(len(have)), nil
		}
	}
	o.lines[l.GetContainerId()] = have
	return uint64(len(have)), nil
}

func (o *owner) NextSeq(_ context.Context, _ rm.AllocationID, c rm.ContainerID) (uint64, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return uint64(len(o.lines[string(c)])), nil
}

// memory replaces the master's store for the resource manager.
type memory struct {
	mu   sync.Mutex // guards docs
	docs map[string][]byte
}

func (m *memory) Put(_ context.Context, key string, doc []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.docs[key] = slices.Clone(doc)
	return nil
}

func (m *memory) Delete(_ context.Context, key string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.docs, key)
	return nil
}

func (m *memory) All(context.Context) (map[string][]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make(map[string][]byte, len(m.docs))
	for k, v := range m.docs {
		out[k] = v
	}
	return out, nil
}

// master is a resource manager with the state that outlives it.
type master struct {
	t         *testing.T
	c         *kubetest.Cluster
	namespace string
	// nodes is the label and the taint of the nodes for its tasks; empty allows every node.
	nodes  string
	owner  *owner
	memory *memory
	client kubernetes.Interface
	edit   func(*pods.Config)

	rm   *pods.RM
	stop func()
}

// newMaster runs a resource manager in a separate namespace and on separate nodes, in parallel with
// other tests.
func newMaster(t *testing.T, edit func(*pods.Config)) *master {
	t.Helper()
	t.Parallel()
	c, namespace := cluster.Namespace(t)
	m := &master{
		t: t, c: c, namespace: namespace, nodes: namespace, owner: newOwner(t), memory: &memory{docs: make(map[string][]byte)},
		client: fast(t, c), edit: edit,
	}
	m.start()
	t.Cleanup(func() { m.stop() })
	return m
}

// fast returns a client without rate limit.
func fast(t *testing.T, c *kubetest.Cluster) kubernetes.Interface {
	t.Helper()
	cfg := c.Config()
	cfg.QPS, cfg.Burst = 500, 1000
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func (m *master) start() {
	m.t.Helper()
	limits := pods.DefaultLimits()
	limits.Start, limits.Lost, limits.Lines = 2*time.Second, 2*time.Second, 8*time.Second
	o := gang.DefaultOptions()
	o.Limit, o.BackOff, o.MaxBackOff = 4*time.Second, 500*time.Millisecond, time.Second
	c := pods.Config{
		Log: slog.New(slog.NewTextHandler(m.t.Output(), nil)), Client: m.client, REST: m.c.Config(), Cluster: "lab", Namespace: m.namespace,
		Tasks: m.owner, Logs: m.owner, Memory: m.memory, Pools: []pods.Pool{{Name: "default", Template: template(m.namespace)}},
		DefaultAux: "default", DefaultCompute: "default", Limits: limits, Gang: o,
	}
	if m.nodes != "" {
		spec := placedOn(m.nodes, "")
		c.Pools[0].Template.CPUPodSpec, c.Pools[0].Template.GPUPodSpec = spec, spec
	}
	if m.edit != nil {
		m.edit(&c)
	}
	r, err := pods.New(c)
	if err != nil {
		m.t.Fatal(err)
	}
	if err := r.Restore(m.t.Context()); err != nil {
		m.t.Fatal(err)
	}
	m.rm = r
	m.owner.attach(m.t, r)
	ctx, cancel := context.WithCancel(m.t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	m.stop = func() {
		cancel()
		if err := <-done; err != nil {
			m.t.Error(err)
		}
		m.stop = func() {}
	}
}

// template returns the settings of all tasks of a test.
func template(namespace string) podspec.Template {
	return podspec.Template{
		Cluster: "lab", ClusterID: "c1", MasterID: "m1", Namespace: namespace, Image: "example/det-deploy:1",
		Master: podspec.Master{Scheme: "http", Host: "127.0.0.1", Port: 8080}, SlotType: podspec.CUDA, MaxSlotsPerPod: 8,
	}
}

// placedOn returns the pod spec of a pool that restricts its pods to the nodes of one test, or to
// those of one pool.
func placedOn(nodes, pool string) []byte {
	return fmt.Appendf(nil, `{"spec": {"nodeSelector": {%q: %q, "pool": %q}, "tolerations": [{"key": %q, "value": %q}]}}`, nodesKey, nodes, pool, nodesKey, nodes)
}

// attach submits all allocations that have not ended, like a restarted owner.
func (o *owner) attach(t *testing.T, r *pods.RM) {
	t.Helper()
	o.mu.Lock()
	var open []rm.Request
	for _, w := range o.tasks {
		if w.end == nil {
			open = append(open, w.Request)
		}
	}
	o.mu.Unlock()
	for _, q := range open {
		if err := r.Submit(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
}

// taskOf returns the task of an allocation.
func taskOf(id rm.AllocationID) string {
	task, _, _ := strings.Cut(string(id), ".")
	return task
}

// submit submits a task to the resource manager.
func (m *master) submit(p program, edit func(*rm.Request)) rm.AllocationID {
	m.t.Helper()
	task := uuid.NewString()
	q := rm.Request{
		Allocation: rm.AllocationID(task + ".1"), Task: rm.TaskID(task), Job: rm.JobID(task), Name: p.String(),
		Username: "ann", Submitted: time.Now(), PreemptionTimeout: time.Minute,
	}
	if edit != nil {
		edit(&q)
	}
	m.owner.mu.Lock()
	m.owner.tasks[q.Allocation] = &owned{
		Request: q, states: make(map[rm.ContainerID][]apiv1.Container_State),
		nodes: make(map[rm.ContainerID]rm.AgentID), hosts: make(map[rm.ContainerID]string), exits: make(map[rm.ContainerID]*agentv1.Exit),
	}
	m.owner.mu.Unlock()
	if err := m.rm.Submit(m.t.Context(), q); err != nil {
		m.t.Fatal(err)
	}
	return q.Allocation
}

func slots(n int) func(*rm.Request) { return func(q *rm.Request) { q.Slots = n } }

// told returns a copy of the record of an allocation.
func (m *master) told(id rm.AllocationID) owned {
	m.owner.mu.Lock()
	defer m.owner.mu.Unlock()
	w := *m.owner.tasks[id]
	w.states, w.exits = make(map[rm.ContainerID][]apiv1.Container_State), make(map[rm.ContainerID]*agentv1.Exit)
	for c, s := range m.owner.tasks[id].states {
		w.states[c] = slices.Clone(s)
	}
	for c, e := range m.owner.tasks[id].exits {
		w.exits[c] = e
	}
	w.waits, w.hosts = slices.Clone(w.waits), maps.Clone(w.hosts)
	return w
}

// await waits until yes returns true for an allocation.
func (m *master) await(id rm.AllocationID, what string, yes func(owned) bool) owned {
	m.t.Helper()
	m.c.Await(what, func() error {
		if w := m.told(id); !yes(w) {
			known, _ := m.rm.Allocation(id)
			return fmt.Errorf("states %v, exits %v, waits %q, end %+v; waiting for %q", w.states, w.exits, w.waits, w.end, known.Waiting)
		}
		return nil
	})
	return m.told(id)
}

func over(w owned) bool { return w.end != nil }

// runs returns a condition that is met when n containers are running.
func runs(n int) func(owned) bool {
	return func(w owned) bool {
		at := 0
		for _, s := range w.states {
			if s[len(s)-1] == apiv1.Container_STATE_RUNNING {
				at++
			}
		}
		return at == n
	}
}

// pods returns the pods of an allocation.
func (m *master) pods(id rm.AllocationID) []corev1.Pod {
	m.t.Helper()
	list, err := m.client.CoreV1().Pods(m.namespace).List(m.t.Context(), metav1.ListOptions{LabelSelector: "determined=" + string(id)})
	if err != nil {
		m.t.Fatal(err)
	}
	return list.Items
}

// awaitForgotten waits until the documents of all tasks are deleted.
func (m *master) awaitForgotten() {
	m.t.Helper()
	m.c.Await("every document is forgotten", func() error {
		docs, err := m.memory.All(m.t.Context())
		if err == nil && len(docs) > 0 {
			err = fmt.Errorf("there are still %v", slices.Sorted(maps.Keys(docs)))
		}
		return err
	})
}

// awaitNothing waits until all objects of tasks in Kubernetes are deleted.
func (m *master) awaitNothing() {
	m.t.Helper()
	m.c.Await("nothing is left", func() error {
		left, err := m.left()
		if err == nil && len(left) > 0 {
			err = fmt.Errorf("there are still %s", left)
		}
		return err
	})
}

// left returns the names of the objects of tasks, with one call for each kind: a kubectl process
// costs more than the calls.
func (m *master) left() (names []string, err error) {
	ctx, o := m.t.Context(), metav1.ListOptions{LabelSelector: "determined"}
	core := m.client.CoreV1()
	for _, list := range []func() (runtime.Object, error){
		func() (runtime.Object, error) { return m.client.BatchV1().Jobs(m.namespace).List(ctx, o) },
		func() (runtime.Object, error) { return core.Pods(m.namespace).List(ctx, o) },
		func() (runtime.Object, error) { return core.Secrets(m.namespace).List(ctx, o) },
		func() (runtime.Object, error) { return core.Services(m.namespace).List(ctx, o) },
	} {
		found, err := list()
		if err != nil {
			return nil, err
		}
		err = meta.EachListItem(found, func(o runtime.Object) error {
			a, err := meta.Accessor(o)
			if err == nil {
				names = append(names, fmt.Sprintf("%T %s", o, a.GetName()))
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return names, nil
}
