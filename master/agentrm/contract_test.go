package agentrm

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"google.golang.org/protobuf/proto"

	"github.com/det-deploy/det-deploy/internal/wait"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/store"
	rmtest "github.com/det-deploy/det-deploy/test/contract/rm"
	"github.com/det-deploy/det-deploy/test/storetest"
)

func TestContract(t *testing.T) {
	t.Parallel()
	rmtest.Suite{New: newHarness}.Run(t)
}

// harness is a resource manager on a store, at an address that outlives it.
type harness struct {
	t      *testing.T
	config Config
	path   string
	server *httptest.Server
	agents sync.WaitGroup
	done   context.CancelFunc // ends the agents
	ctx    context.Context
	stop   func()

	// mu guards the fields below.
	mu       sync.Mutex
	serving  http.Handler
	machines int
	deaf     map[string]bool
	finished map[string]int32
	changed  chan struct{} // closed when a program is to end
}

func newHarness(t *testing.T, o *rmtest.Owner, opts rmtest.Options) rmtest.Harness {
	h := &harness{
		t: t, path: filepath.Join(t.TempDir(), "store.db"), stop: func() {},
		deaf: make(map[string]bool), finished: make(map[string]int32), changed: make(chan struct{}),
	}
	first, other := defaultPool(), defaultPool()
	first.Scheduler.Preemption, other.Scheduler.Preemption = opts.Preemption, opts.Preemption
	first.Name, other.Name = rmtest.DefaultPool, rmtest.OtherPool
	// Nothing is given up because of a slow restart in the test.
	first.ReconnectWait, other.ReconnectWait = rmtest.Patience, rmtest.Patience
	h.config = Config{
		Pools: []Pool{first, other}, DefaultAux: first.Name, DefaultCompute: first.Name,
		Gate: newOwner(), Tasks: o, Logs: o, ClusterID: "c1", Version: "1.2.3",
		// More machines may join, so that no request is refused for its size.
		Machine: func(string) (int, bool) { return rmtest.MachineSlots, true },
	}
	h.server = httptest.NewServer(h)
	h.ctx, h.done = context.WithCancel(context.WithoutCancel(t.Context()))
	t.Cleanup(func() {
		h.done()
		h.Stop()
		h.agents.Wait()
		h.server.Close()
	})
	return h
}

// ServeHTTP passes connections to the resource manager, if one is running.
func (h *harness) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	h.mu.Lock()
	serving := h.serving
	h.mu.Unlock()
	if serving == nil {
		http.Error(w, "no master runs", http.StatusServiceUnavailable)
		return
	}
	serving.ServeHTTP(w, q)
}

func (h *harness) serve(r http.Handler) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.serving = r
}

func (h *harness) Start(attach func(rm.ResourceManager)) {
	h.t.Helper()
	db := storetest.Open(h.t, store.Config{Path: h.path})
	h.config.Store = db
	r, err := New(h.config)
	if err != nil {
		h.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(h.t.Context()))
	if err := r.Restore(ctx); err != nil {
		h.t.Fatal(err)
	}
	attach(r)
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	h.serve(r)
	h.stop = func() {
		h.serve(nil)
		cancel()
		if err := <-done; err != nil {
			h.t.Errorf("run: %v", err)
		}
		if err := db.Close(); err != nil {
			h.t.Errorf("close store: %v", err)
		}
		h.stop = func() {}
	}
}

func (h *harness) Stop() { h.stop() }

func (h *harness) AddMachine(pool string) {
	h.mu.Lock()
	h.machines++
	id := fmt.Sprintf("machine-%d", h.machines)
	h.mu.Unlock()
	p := &player{h: h, id: id, pool: pool, containers: make(map[string]*played)}
	h.agents.Go(func() { p.run(h.ctx) })
}

func (h *harness) Deaf(id rm.AllocationID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.deaf[string(id)] = true
}

func (h *harness) Finish(id rm.AllocationID, code int32) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.finished[string(id)] = code
	close(h.changed)
	h.changed = make(chan struct{})
}

// finishes reports whether the programs of an allocation are to end, and with which code. It also
// returns a channel that is closed when the result may have changed.
func (h *harness) finishes(allocation string) (code int32, ends bool, changed <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	code, ends = h.finished[allocation]
	return code, ends, h.changed
}

func (h *harness) ignoresTerminate(allocation string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.deaf[allocation]
}

// player is an agent whose programs run until they are asked to end.
type player struct {
	h    *harness
	id   string
	pool string

	// mu guards the fields below.
	mu         sync.Mutex
	containers map[string]*played
	conn       *websocket.Conn
}

// played is a container. Its last change is sent until it is acknowledged.
type played struct {
	allocation string
	last       *agentv1.Change
	killed     chan *agentv1.Exit
}

// run connects whenever there is a master, until ctx is done.
func (p *player) run(ctx context.Context) {
	var programs sync.WaitGroup
	defer programs.Wait()
	for ctx.Err() == nil {
		p.converse(ctx, &programs)
		_ = wait.For(ctx, 5*time.Millisecond) // its only error is the context's
	}
}

// converse serves one connection. Its errors are those of an absent master.
func (p *player) converse(ctx context.Context, programs *sync.WaitGroup) {
	conn, _, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(p.h.server.URL, "http"), nil)
	if err != nil {
		return
	}
	defer conn.CloseNow() //nolint:errcheck // the connection may already be closed
	if p.introduce(ctx, conn) != nil {
		return
	}
	for {
		m, err := readMaster(ctx, conn)
		if err != nil {
			p.setConn(nil)
			return
		}
		p.take(ctx, m, programs)
	}
}

func (p *player) setConn(conn *websocket.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conn = conn
}

// introduce sends the hello and repeats the changes that the master has not acknowledged.
func (p *player) introduce(ctx context.Context, conn *websocket.Conn) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	hello := greeting(p.id, rmtest.MachineSlots)
	hello.ResourcePool = p.pool
	for id, c := range p.containers {
		hello.Containers = append(hello.Containers, &agentv1.Report{ContainerId: id, AllocationId: c.allocation, State: c.last.GetState()})
	}
	if err := writeAgent(ctx, conn, &agentv1.AgentMessage{Body: &agentv1.AgentMessage_Hello{Hello: hello}}); err != nil {
		return err
	}
	m, err := readMaster(ctx, conn)
	if err != nil {
		return err
	}
	if m.GetWelcome() == nil {
		return fmt.Errorf("agent %s is not welcome: %v", p.id, m)
	}
	for _, known := range m.GetWelcome().GetContainers() {
		if c := p.containers[known.GetContainerId()]; c != nil {
			if err := writeAgent(ctx, conn, &agentv1.AgentMessage{Body: &agentv1.AgentMessage_Change{Change: c.last}}); err != nil {
				return err
			}
		}
	}
	p.conn = conn
	return nil
}

func (p *player) take(ctx context.Context, m *agentv1.MasterMessage, programs *sync.WaitGroup) {
	switch {
	case m.GetStart() != nil:
		p.begin(ctx, m.GetStart(), programs)
	case m.GetSignal() != nil:
		p.signal(m.GetSignal())
	case m.GetAck().GetState() == terminated:
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.containers, m.GetAck().GetContainerId())
	}
}

// begin runs a container, once.
func (p *player) begin(ctx context.Context, s *agentv1.Start, programs *sync.WaitGroup) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.containers[s.GetContainerId()] != nil {
		return
	}
	c := &played{allocation: s.GetAllocationId(), killed: make(chan *agentv1.Exit, 1)}
	p.containers[s.GetContainerId()] = c
	p.write(ctx, &agentv1.AgentMessage{Body: &agentv1.AgentMessage_Received{Received: &agentv1.Received{ContainerId: s.GetContainerId()}}})
	p.change(ctx, s.GetContainerId(), running, nil)
	programs.Go(func() {
		if exit := p.awaitExit(ctx, c); exit != nil {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.change(ctx, s.GetContainerId(), terminated, exit)
		}
	})
}

// awaitExit waits for the end of a program. It returns nil if the test ends first.
func (p *player) awaitExit(ctx context.Context, c *played) *agentv1.Exit {
	for {
		code, ends, changed := p.h.finishes(c.allocation)
		if ends {
			return &agentv1.Exit{Kind: agentv1.Exit_KIND_EXITED, Code: code}
		}
		select {
		case exit := <-c.killed:
			return exit
		case <-changed:
		case <-ctx.Done():
			return nil
		}
	}
}

func (p *player) signal(s *agentv1.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.containers[s.GetContainerId()]
	if c == nil || s.GetKind() == agentv1.Signal_KIND_TERMINATE && p.h.ignoresTerminate(c.allocation) {
		return
	}
	code := int32(143)
	if s.GetKind() == agentv1.Signal_KIND_KILL {
		code = 137
	}
	select {
	case c.killed <- &agentv1.Exit{Kind: agentv1.Exit_KIND_EXITED, Code: code}:
	default: // it is ending
	}
}

// change records and sends a container's state. The caller holds mu.
func (p *player) change(ctx context.Context, id string, state apiv1.Container_State, exit *agentv1.Exit) {
	c := p.containers[id]
	c.last = &agentv1.Change{ContainerId: id, AllocationId: c.allocation, State: state, AtUs: time.Now().UnixMicro(), Exit: exit}
	p.write(ctx, &agentv1.AgentMessage{Body: &agentv1.AgentMessage_Change{Change: c.last}})
}

// write sends a message if it is connected. Lost messages are repeated to the next master.
func (p *player) write(ctx context.Context, m *agentv1.AgentMessage) {
	if p.conn != nil {
		_ = writeAgent(ctx, p.conn, m)
	}
}

func writeAgent(ctx context.Context, conn *websocket.Conn, m *agentv1.AgentMessage) error {
	b, err := proto.Marshal(m)
	if err != nil {
		return err
	}
	return conn.Write(ctx, websocket.MessageBinary, b)
}

func readMaster(ctx context.Context, conn *websocket.Conn) (*agentv1.MasterMessage, error) {
	_, b, err := conn.Read(ctx)
	if err != nil {
		return nil, err
	}
	m := &agentv1.MasterMessage{}
	return m, proto.Unmarshal(b, m)
}
