package agentrm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"google.golang.org/protobuf/proto"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/pool"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/test/storetest"
)

// patience bounds every wait of these tests; on an idle machine they wait for milliseconds.
const patience = 20 * time.Second

// owner implements the owner of the tasks, the logs and the gate.
type owner struct {
	mu     sync.Mutex
	events []string
	stir   chan struct{}
	// fail is called before any event is accepted; nil accepts all.
	fail func(event string) error
	next map[rm.ContainerID]uint64
	// hosts are the hosts of running containers, in the order of their reports.
	hosts []string
	// ports are the ports of allocations, in the order of their assignment.
	ports []string
	// listens reports that every program listens for the preemption signal.
	listens bool
	// files are files for each spec, to make it large.
	files []*apiv1.File
	door  func(JoinProof) (Identity, error)
}

func newOwner() *owner {
	return &owner{stir: make(chan struct{}), next: make(map[rm.ContainerID]uint64)}
}

func (o *owner) note(format string, args ...any) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	event := fmt.Sprintf(format, args...)
	if o.fail != nil {
		if err := o.fail(event); err != nil {
			return err
		}
	}
	o.events = append(o.events, event)
	close(o.stir)
	o.stir = make(chan struct{})
	return nil
}

func (o *owner) Assigned(_ context.Context, a rm.Assignment) ([]*agentv1.Spec, error) {
	if len(a.Ports) > 0 {
		o.mu.Lock()
		o.ports = append(o.ports, fmt.Sprint(a.Allocation, a.Ports))
		o.mu.Unlock()
	}
	var specs []*agentv1.Spec
	for range a.Containers {
		specs = append(specs, &agentv1.Spec{Entrypoint: []string{"true"}, Files: o.files})
	}
	return specs, o.note("%s assigned to %d", a.Allocation, len(a.Containers))
}

func (o *owner) Changed(_ context.Context, c rm.ContainerChange) error {
	if _, err := json.Marshal(c.At); err != nil {
		return err // it is stored in this form
	}
	if c.Host != "" {
		o.mu.Lock()
		o.hosts = append(o.hosts, c.Host)
		o.mu.Unlock()
	}
	event := fmt.Sprintf("%s rank %d %s", c.Allocation, c.Rank, strings.TrimPrefix(c.State.String(), "STATE_"))
	if c.Exit != nil {
		event += fmt.Sprintf(" %s %d", strings.TrimPrefix(c.Exit.GetKind().String(), "KIND_"), c.Exit.GetCode())
	}
	return o.note("%s", event)
}

func (o *owner) Preempted(_ context.Context, id rm.AllocationID, _ string, _ time.Time) (bool, error) {
	o.mu.Lock()
	listens := o.listens
	o.mu.Unlock()
	return listens, o.note("%s preempted", id)
}

func (o *owner) Waits(_ context.Context, id rm.AllocationID, w rm.Wait) error {
	return o.note("%s waits: %s", id, w.Reason)
}

func (o *owner) Ended(_ context.Context, id rm.AllocationID, e rm.End) error {
	return o.note("%s ended: %s: %s", id, e.Cause, e.Reason)
}

func (o *owner) AppendLogs(_ context.Context, _ rm.AgentID, l *agentv1.Logs) (uint64, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	id := rm.ContainerID(l.GetContainerId())
	o.next[id] = max(o.next[id], l.GetFirstSeq()+uint64(len(l.GetLines())))
	return o.next[id], nil
}

func (o *owner) NextSeq(_ context.Context, _ rm.AllocationID, id rm.ContainerID) (uint64, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.next[id], nil
}

func (o *owner) Admit(_ context.Context, p JoinProof) (Identity, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.door != nil {
		return o.door(p)
	}
	return Identity{Agent: p.Agent}, nil
}

// await waits for an event that contains text, and returns all events so far.
func (o *owner) await(t testing.TB, text string) []string {
	t.Helper()
	deadline := time.After(patience)
	for {
		o.mu.Lock()
		events, stir := append([]string(nil), o.events...), o.stir
		o.mu.Unlock()
		for _, e := range events {
			if strings.Contains(e, text) {
				return events
			}
		}
		select {
		case <-stir:
		case <-deadline:
			t.Fatalf("waited for %q and saw\n  %s", text, strings.Join(events, "\n  "))
		}
	}
}

// where returns the hosts of the containers.
func (o *owner) where() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.hosts)
}

func (o *owner) count(text string) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := 0
	for _, e := range o.events {
		if strings.Contains(e, text) {
			n++
		}
	}
	return n
}

// cluster is a master's resource manager with a server, which can be restarted.
type cluster struct {
	*RM
	*owner
	t      testing.TB
	path   string
	config Config
	store  *store.Store
	server *httptest.Server
	cancel context.CancelFunc
	done   chan error
}

// defaultPool returns a pool with default settings.
func defaultPool() Pool {
	return Pool{
		Name: "default", MaxAux: DefaultMaxAux, ReconnectWait: DefaultReconnectWait,
		Scheduler: pool.Scheduler{Fitting: pool.Best, DefaultPriority: pool.DefaultPriority},
	}
}

// newCluster starts a cluster with the pools "default" and "other" and the given changes.
func newCluster(t testing.TB, change ...func(*Config)) *cluster {
	other := defaultPool()
	other.Name = "other"
	c := &cluster{t: t, owner: newOwner(), path: filepath.Join(t.TempDir(), "store.db")}
	c.config = Config{
		Pools: []Pool{defaultPool(), other}, DefaultAux: "default", DefaultCompute: "default",
		Gate: c.owner, Tasks: c.owner, Logs: c.owner, ClusterID: "c1", Version: "1.2.3",
	}
	for _, f := range change {
		f(&c.config)
	}
	c.start()
	t.Cleanup(c.stop)
	return c
}

func (c *cluster) start() {
	c.t.Helper()
	c.store = storetest.Open(c.t, store.Config{Path: c.path})
	c.config.Store = c.store
	r, err := New(c.config)
	if err != nil {
		c.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(c.t.Context()))
	c.cancel = cancel
	if err := r.Restore(ctx); err != nil {
		c.t.Fatal(err)
	}
	c.RM, c.done = r, make(chan error, 1)
	go func() { c.done <- r.Run(ctx) }()
	c.server = httptest.NewServer(r)
	c.until("agents may connect", r.servesAgents)
}

func (r *RM) servesAgents() bool {
	r.connections.mu.Lock()
	defer r.connections.mu.Unlock()
	return r.connections.serving
}

func (c *cluster) stop() {
	if c.cancel == nil {
		return
	}
	c.cancel()
	c.cancel = nil
	if err := <-c.done; err != nil {
		c.t.Errorf("run: %v", err)
	}
	c.server.Close()
	if err := c.store.Close(); err != nil {
		c.t.Errorf("close store: %v", err)
	}
}

func (c *cluster) restart() {
	c.stop()
	c.start()
}

// until polls for a condition without an event.
func (c *cluster) until(what string, ok func() bool) {
	c.t.Helper()
	deadline, tick := time.After(patience), time.NewTicker(2*time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			c.t.Fatalf("waited in vain until %s", what)
		}
	}
}

// submit queues an allocation "<id>.1" in a separate job.
func (c *cluster) submit(id string, slots int, change ...func(*rm.Request)) rm.AllocationID {
	c.t.Helper()
	q := rm.Request{
		Allocation: rm.AllocationID(id + ".1"), Task: rm.TaskID(id), Job: rm.JobID(id), Name: "task " + id,
		Slots: slots, Submitted: time.Now(), PreemptionTimeout: time.Hour,
	}
	for _, f := range change {
		f(&q)
	}
	if err := c.Submit(c.t.Context(), q); err != nil {
		c.t.Fatal(err)
	}
	return q.Allocation
}

func prefer(priority int) func(*rm.Request) { return func(q *rm.Request) { q.Priority = priority } }
func yielding(q *rm.Request)                { q.Preemptible = true }

// peer is the other end of the link, implemented directly on link.proto.
type peer struct {
	t    testing.TB
	of   *cluster
	conn *websocket.Conn
	// id is the agent's.
	id string
	// early holds messages that came before an expected acknowledgement.
	early []*agentv1.MasterMessage
}

// dial opens a connection without sending a message.
func (c *cluster) dial() *peer {
	c.t.Helper()
	conn, _, err := websocket.Dial(c.t.Context(), "ws"+strings.TrimPrefix(c.server.URL, "http"), nil)
	if err != nil {
		c.t.Fatal(err)
	}
	conn.SetReadLimit(128 << 20) // as agents do: a start carries the files of its task
	p := &peer{t: c.t, of: c, conn: conn}
	c.t.Cleanup(p.hangUp)
	return p
}

func (p *peer) hangUp() { _ = p.conn.CloseNow() } // a test may have closed it already

func greeting(id string, slots int) *agentv1.Hello {
	h := &agentv1.Hello{Protocol: agentv1.Protocol, AgentId: id, Version: "1.2.3", Hostname: id}
	for i := range slots {
		h.Devices = append(h.Devices, &apiv1.Device{
			Id: int32(i), Uuid: fmt.Sprintf("%s-%d", id, i), Brand: "Tesla", Type: apiv1.Device_TYPE_CUDA,
		})
	}
	return h
}

// join connects an agent and returns it with its welcome.
func (c *cluster) join(id string, slots int, change ...func(*agentv1.Hello)) (*peer, *agentv1.Welcome) {
	c.t.Helper()
	h := greeting(id, slots)
	for _, f := range change {
		f(h)
	}
	p := c.dial()
	p.id = id
	p.say(&agentv1.AgentMessage{Body: &agentv1.AgentMessage_Hello{Hello: h}})
	m := p.next()
	if m.GetWelcome() == nil {
		c.t.Fatalf("agent %s is not welcome: %v", id, m)
	}
	return p, m.GetWelcome()
}

// has adds a container to the agent's report.
func has(id string, allocation rm.AllocationID) func(*agentv1.Hello) {
	return func(h *agentv1.Hello) {
		h.Containers = append(h.Containers, &agentv1.Report{
			ContainerId: id, AllocationId: string(allocation), State: apiv1.Container_STATE_RUNNING,
		})
	}
}

func (p *peer) say(m *agentv1.AgentMessage) {
	p.t.Helper()
	if err := p.shout(m); err != nil {
		p.t.Fatal(err)
	}
}

// shout is like say, but for a master that may close the connection before it has read everything.
func (p *peer) shout(m *agentv1.AgentMessage) error {
	p.t.Helper()
	b, err := proto.Marshal(m)
	if err != nil {
		p.t.Fatal(err)
	}
	return p.conn.Write(p.t.Context(), websocket.MessageBinary, b)
}

// next returns the master's next message.
func (p *peer) next() *agentv1.MasterMessage {
	p.t.Helper()
	if len(p.early) > 0 {
		m := p.early[0]
		p.early = p.early[1:]
		return m
	}
	return p.fresh()
}

func (p *peer) fresh() *agentv1.MasterMessage {
	p.t.Helper()
	m, err := p.read(p.t.Context())
	if err != nil {
		p.t.Fatal(err)
	}
	return m
}

func (p *peer) read(ctx context.Context) (*agentv1.MasterMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_, b, err := p.conn.Read(ctx)
	if err != nil {
		return nil, err
	}
	m := &agentv1.MasterMessage{}
	return m, proto.Unmarshal(b, m)
}

// started waits for a start and reports it as received.
func (p *peer) started() *agentv1.Start {
	p.t.Helper()
	s := p.asked()
	p.received(s)
	return s
}

func (p *peer) asked() *agentv1.Start {
	p.t.Helper()
	m := p.next()
	if m.GetStart() == nil {
		p.t.Fatalf("got %v, want a start", m)
	}
	return m.GetStart()
}

func (p *peer) received(s *agentv1.Start) {
	p.t.Helper()
	p.say(&agentv1.AgentMessage{Body: &agentv1.AgentMessage_Received{Received: &agentv1.Received{ContainerId: s.GetContainerId()}}})
}

// reports sends a state and waits until it is stored, or acknowledged if it is the last one.
func (p *peer) reports(s *agentv1.Start, state apiv1.Container_State, exit ...int32) {
	p.t.Helper()
	p.change(s, state, exit...)
	if state != terminated {
		p.of.until("a state is stored", func() bool { return p.of.storedState(s) >= state })
		return
	}
	m := p.fresh()
	for ; m.GetAck() == nil; m = p.fresh() {
		p.early = append(p.early, m) // a start on the freed slots may come first
	}
	ack := m.GetAck()
	if ack.GetContainerId() != s.GetContainerId() || ack.GetState() != state {
		p.t.Fatalf("got acknowledgement %v, want %s of %s", ack, state, s.GetContainerId())
	}
}

// storedState returns the last stored state of a container, or TERMINATED once it is deleted.
func (c *cluster) storedState(s *agentv1.Start) apiv1.Container_State {
	found := c.state.findContainer(rm.ContainerID(s.GetContainerId()))
	c.state.mu.Lock()
	defer c.state.mu.Unlock()
	if found == nil {
		return terminated
	}
	return found.stored
}

func (p *peer) change(s *agentv1.Start, state apiv1.Container_State, exit ...int32) {
	p.t.Helper()
	c := &agentv1.Change{ContainerId: s.GetContainerId(), AllocationId: s.GetAllocationId(), State: state, AtUs: 1}
	if len(exit) > 0 {
		c.Exit = &agentv1.Exit{Kind: agentv1.Exit_KIND_EXITED, Code: exit[0]}
	}
	p.say(&agentv1.AgentMessage{Body: &agentv1.AgentMessage_Change{Change: c}})
}

// quiet fails the test if the master has sent more messages than expected.
func (p *peer) quiet() {
	p.t.Helper()
	if len(p.early) > 0 {
		p.t.Errorf("got %v from the master, want nothing", p.early)
	}
}

const (
	running    = apiv1.Container_STATE_RUNNING
	terminated = apiv1.Container_STATE_TERMINATED
)

// killed waits for the kill signal, and reports the end of the container.
func (p *peer) killed(s *agentv1.Start) {
	p.t.Helper()
	p.signalled(s, agentv1.Signal_KIND_KILL)
	p.reports(s, terminated, 137)
}

// signalled waits for a signal.
func (p *peer) signalled(s *agentv1.Start, kind agentv1.Signal_Kind) *agentv1.Signal {
	p.t.Helper()
	m := p.next()
	if m.GetSignal().GetContainerId() != s.GetContainerId() || m.GetSignal().GetKind() != kind {
		p.t.Fatalf("got %v, want %s for %s", m, kind, s.GetContainerId())
	}
	return m.GetSignal()
}

// refused waits for a refusal, and for the end of the connection.
func (p *peer) refused() *agentv1.Refusal {
	p.t.Helper()
	for {
		m := p.next()
		if m.GetRefusal() == nil {
			continue
		}
		if _, err := p.read(p.t.Context()); err == nil {
			p.t.Error("the link stays open after the refusal")
		}
		return m.GetRefusal()
	}
}

func preempting(c *Config) { c.Pools[0].Scheduler.Preemption = true }

func reconnectWait(d time.Duration) func(*Config) {
	return func(c *Config) { c.Pools[0].ReconnectWait = d }
}

var errInjected = errors.New("the disk is full")
