package agent

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"google.golang.org/protobuf/proto"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// peer plays the master at the other end of a real websocket. Like a master, it stores lines by
// number and states by container; an inconsistent message is an error.
type peer struct {
	t      testing.TB
	server *httptest.Server

	mu         sync.Mutex
	conn       *websocket.Conn
	hellos     []*agentv1.Hello
	containers map[string]*told
	faults     []string
	// refuse, if set, answers a hello with a refusal instead of a welcome.
	refuse func(*agentv1.Hello) *agentv1.Refusal
	// credential is sent with each welcome.
	credential string
	// config is sent with each welcome.
	config []byte
	// prepare is sent to preparing machines; version and programs to all agents.
	prepare    *agentv1.Preparation
	version    string
	programs   map[string]string
	program    []byte
	unprepared []string
	notices    []*agentv1.Notice
	healths    []*agentv1.Health
	// wait is the reconnect wait of each welcome.
	wait time.Duration
	// mute suppresses acknowledgements.
	mute bool
	// messages counts the agents' messages after the hello; ends counts exited containers.
	messages, ends int
	// older emulates a master that does not accept a change as a receipt.
	older   bool
	context string
	// failed are the streams that the agent did not open, opened those that it did.
	failed chan *agentv1.StreamFailed
	opened chan *websocket.Conn
}

// told is the peer's knowledge of one container.
type told struct {
	start     *agentv1.Start
	received  int // counts separate receipts; a change confirms too
	confirmed bool
	lines     []*agentv1.Line
	states    []apiv1.Container_State
	exit      *agentv1.Exit
	ends      int
	change    *agentv1.Change
}

func newPeer(t testing.TB) *peer {
	t.Helper()
	p := &peer{t: t, containers: map[string]*told{}, credential: "paper", failed: make(chan *agentv1.StreamFailed, 1), opened: make(chan *websocket.Conn, 1)}
	mux := http.NewServeMux()
	mux.HandleFunc("/agents", p.serve)
	mux.HandleFunc("/agents/streams/{id}", p.serveStream)
	mux.HandleFunc("/api/v1/tasks/{id}/context_directory", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Grpc-Metadata-x-allocation-token") != "Bearer session" {
			http.Error(w, "no token", http.StatusUnauthorized)
			return
		}
		_, _ = fmt.Fprintf(w, `{"b64Tgz":%q}`, p.context)
	})
	mux.HandleFunc("/binaries/{platform}", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(p.program) })
	p.server = httptest.NewServer(mux)
	t.Cleanup(func() {
		p.disconnect()
		p.server.Close()
		for _, f := range p.faults {
			t.Error(f)
		}
	})
	return p
}

func (p *peer) address() (host string, port int) {
	u, err := url.Parse(p.server.URL)
	if err != nil {
		p.t.Fatal(err)
	}
	port, err = strconv.Atoi(u.Port())
	if err != nil {
		p.t.Fatal(err)
	}
	return u.Hostname(), port
}

func (p *peer) faultf(format string, args ...any) {
	p.faults = append(p.faults, fmt.Sprintf(format, args...))
}

func (p *peer) serve(w http.ResponseWriter, r *http.Request) {
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	defer func() { _ = conn.CloseNow() }()
	conn.SetReadLimit(16 << 20)
	m, err := read(r.Context(), conn)
	if err != nil || m.GetHello() == nil {
		return
	}
	if p.greet(r.Context(), conn, m.GetHello()) != nil {
		return
	}
	for {
		m, err := read(r.Context(), conn)
		if err != nil {
			return
		}
		if answer := p.take(m); answer != nil && write(r.Context(), conn, answer) != nil {
			return
		}
	}
}

// greet answers a hello. Other messages are sent after the answer.
func (p *peer) greet(ctx context.Context, conn *websocket.Conn, h *agentv1.Hello) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, answer := range p.welcome(conn, h) {
		if err := write(ctx, conn, answer); err != nil {
			return err
		}
	}
	return nil
}

func read(ctx context.Context, conn *websocket.Conn) (*agentv1.AgentMessage, error) {
	_, data, err := conn.Read(ctx)
	if err != nil {
		return nil, err
	}
	m := &agentv1.AgentMessage{}
	return m, proto.Unmarshal(data, m)
}

func write(ctx context.Context, conn *websocket.Conn, m *agentv1.MasterMessage) error {
	data, err := proto.Marshal(m)
	if err != nil {
		return err
	}
	return conn.Write(ctx, websocket.MessageBinary, data)
}

// welcome returns the answer to a hello, and the orders that were not received.
func (p *peer) welcome(conn *websocket.Conn, h *agentv1.Hello) []*agentv1.MasterMessage {
	p.hellos = append(p.hellos, h)
	if p.refuse != nil {
		if r := p.refuse(h); r != nil {
			return []*agentv1.MasterMessage{{Body: &agentv1.MasterMessage_Refusal{Refusal: r}}}
		}
	}
	p.conn = conn
	w := &agentv1.Welcome{ClusterId: "cluster", MasterId: "master", Credential: p.credential, AgentConfig: p.config}
	w.ReconnectWaitUs, w.ChangeConfirms = p.wait.Microseconds(), !p.older
	w.Version, w.Programs = p.version, p.programs
	if h.GetPreparing() {
		w.Preparation = p.prepare
	}
	reported := map[string]bool{}
	for _, r := range h.GetContainers() {
		c := p.containers[r.GetContainerId()]
		reported[r.GetContainerId()] = true
		if c == nil {
			continue
		}
		k := &agentv1.Known{ContainerId: r.GetContainerId(), LogNextSeq: uint64(len(c.lines))}
		if len(c.states) > 0 {
			k.Acked = c.states[len(c.states)-1]
		}
		w.Containers = append(w.Containers, k)
	}
	out := []*agentv1.MasterMessage{{Body: &agentv1.MasterMessage_Welcome{Welcome: w}}}
	for id, c := range p.containers {
		switch {
		case c.exit != nil || reported[id]:
		case c.confirmed:
			p.faultf("container %s was received and is not reported", id)
		default:
			out = append(out, startMessage(c.start))
		}
	}
	return out
}

func startMessage(s *agentv1.Start) *agentv1.MasterMessage {
	return &agentv1.MasterMessage{Body: &agentv1.MasterMessage_Start{Start: s}}
}

func (p *peer) take(m *agentv1.AgentMessage) *agentv1.MasterMessage {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.messages++
	switch b := m.GetBody().(type) {
	case *agentv1.AgentMessage_Received:
		if c := p.known(b.Received.GetContainerId()); c != nil {
			c.received, c.confirmed = c.received+1, true
		}
	case *agentv1.AgentMessage_Logs:
		return p.takeLogs(b.Logs)
	case *agentv1.AgentMessage_Change:
		return p.takeChange(b.Change)
	case *agentv1.AgentMessage_Unprepared:
		p.unprepared = append(p.unprepared, b.Unprepared.GetReason())
	case *agentv1.AgentMessage_Health:
		p.healths = append(p.healths, b.Health)
	case *agentv1.AgentMessage_StreamFailed:
		p.failed <- b.StreamFailed
	case *agentv1.AgentMessage_Notice:
		p.notices = append(p.notices, b.Notice)
	default:
		p.faultf("the agent says %v", m)
	}
	return nil
}

func (p *peer) known(id string) *told {
	c := p.containers[id]
	if c == nil {
		p.faultf("the agent reports container %s of another agent", id)
	}
	return c
}

func (p *peer) takeLogs(l *agentv1.Logs) *agentv1.MasterMessage {
	c := p.known(l.GetContainerId())
	if c == nil {
		return nil
	}
	for i, line := range l.GetLines() {
		switch seq := int(l.GetFirstSeq()) + i; {
		case seq < len(c.lines):
			if !bytes.Equal(c.lines[seq].GetText(), line.GetText()) {
				p.faultf("container %s: line %d was %q and is %q", l.GetContainerId(), seq, c.lines[seq].GetText(), line.GetText())
			}
		case seq > len(c.lines):
			p.faultf("container %s: line %d comes after %d lines", l.GetContainerId(), seq, len(c.lines))
		default:
			c.lines = append(c.lines, line)
		}
	}
	if p.mute {
		return nil
	}
	return &agentv1.MasterMessage{Body: &agentv1.MasterMessage_LogAck{LogAck: &agentv1.LogAck{
		ContainerId: l.GetContainerId(), NextSeq: uint64(len(c.lines)),
	}}}
}

func (p *peer) takeChange(ch *agentv1.Change) *agentv1.MasterMessage {
	c := p.known(ch.GetContainerId())
	if c == nil {
		return nil
	}
	if p.older && !c.confirmed && !ch.GetExit().GetNotHere() {
		p.faultf("container %s is %s and was not received", ch.GetContainerId(), ch.GetState())
	}
	c.confirmed = true
	if n := len(c.states); n > 0 && ch.GetState() < c.states[n-1] {
		p.faultf("container %s goes back from %s to %s", ch.GetContainerId(), c.states[n-1], ch.GetState())
	}
	if n := len(c.states); n == 0 || ch.GetState() > c.states[n-1] {
		c.states = append(c.states, ch.GetState())
		c.change = ch
	}
	if ch.GetState() == apiv1.Container_STATE_TERMINATED {
		if c.exit != nil && !proto.Equal(c.exit, ch.GetExit()) {
			p.faultf("container %s ended with %v and then with %v", ch.GetContainerId(), c.exit, ch.GetExit())
		}
		if c.exit == nil {
			p.ends++
		}
		c.exit = ch.GetExit()
		c.ends++
	}
	if p.mute {
		return nil
	}
	return &agentv1.MasterMessage{Body: &agentv1.MasterMessage_Ack{Ack: &agentv1.Ack{
		ContainerId: ch.GetContainerId(), State: ch.GetState(),
	}}}
}

// start orders a script, now or with the next welcome.
func (p *peer) start(id, script string, change ...func(*agentv1.Start)) {
	s := &agentv1.Start{
		ContainerId: id, AllocationId: id + ".1", TaskId: "task-" + id,
		Spec: &agentv1.Spec{
			Entrypoint: []string{"sh", "-c", script}, SessionToken: "session",
			WorkDir: "/run/determined/workdir",
		},
	}
	for _, f := range change {
		f(s)
	}
	p.mu.Lock()
	p.containers[id] = &told{start: s}
	p.mu.Unlock()
	p.send(startMessage(s))
}

func (p *peer) signal(id string, kind agentv1.Signal_Kind, grace time.Duration) {
	p.send(&agentv1.MasterMessage{Body: &agentv1.MasterMessage_Signal{Signal: &agentv1.Signal{
		ContainerId: id, Kind: kind, GraceUs: grace.Microseconds(),
	}}})
}

// send sends a message. Without a connection the message is lost, as on a real network.
func (p *peer) send(m *agentv1.MasterMessage) {
	p.mu.Lock()
	conn := p.conn
	p.mu.Unlock()
	if conn != nil {
		_ = write(context.WithoutCancel(p.t.Context()), conn, m)
	}
}

func (p *peer) disconnect() {
	p.mu.Lock()
	conn := p.conn
	p.conn = nil
	p.mu.Unlock()
	if conn != nil {
		_ = conn.CloseNow()
	}
}

// await waits until is returns true. It waits longer than the minute within which an unhealthy
// agent is probed.
func (p *peer) await(what string, is func() bool) {
	p.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(3 * time.Minute); time.Now().Before(end); <-tick.C {
		p.mu.Lock()
		done := is()
		p.mu.Unlock()
		if done {
			return
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.t.Fatalf("in three minutes it never came about that %s; faults %q; %s", what, p.faults, p.dump())
}

func (p *peer) dump() string {
	var b bytes.Buffer
	for id, c := range p.containers {
		fmt.Fprintf(&b, "\n%s: received %d, states %v, exit %v, %d lines", id, c.received, c.states, c.exit, len(c.lines))
	}
	return b.String()
}

func (p *peer) awaitState(id string, s apiv1.Container_State) *told {
	p.t.Helper()
	c := p.containers[id]
	p.await(fmt.Sprintf("%s is %s", id, s), func() bool {
		return len(c.states) > 0 && c.states[len(c.states)-1] >= s
	})
	return c
}

func (p *peer) awaitEnd(id string) *told {
	p.t.Helper()
	return p.awaitState(id, apiv1.Container_STATE_TERMINATED)
}

func (c *told) texts() []string {
	out := make([]string, len(c.lines))
	for i, l := range c.lines {
		out[i] = string(l.GetText())
	}
	return out
}
