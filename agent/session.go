package agent

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/det-deploy/det-deploy/agent/container"
	"github.com/det-deploy/det-deploy/agent/lifecycle"
	"github.com/det-deploy/det-deploy/agent/link"
	"github.com/det-deploy/det-deploy/agent/streams"
	"github.com/det-deploy/det-deploy/agent/task"
	"github.com/det-deploy/det-deploy/internal/wait"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

const (
	// shutdownGrace is the time between asking containers to stop and killing them when the master
	// asks the agent to shut down. shutdownPatience limits the whole shutdown.
	shutdownGrace    = 10 * time.Second
	shutdownPatience = 60 * time.Second
)

// session is the state of one connection: which messages it has sent. Everything else is on disk,
// so that the next connection can resend it.
type session struct {
	agent *Agent
	conn  *link.Conn
	// changeConfirms is true if the master accepts a state change as the receipt of the order too.
	changeConfirms bool

	// cursors is only used by the writer.
	cursors map[string]*cursor
	// shutdown is closed when the master asks the agent to shut down.
	shutdown chan struct{}

	// mu guards the fields below.
	mu          sync.Mutex
	work        map[string]bool // containers to check
	unconfirmed map[string]bool // orders to confirm
	direct      []*agentv1.AgentMessage
	timed       bool // a timer for delayed messages is running
	more        chan struct{}
}

// cursor is the state and the number of log lines sent for one container.
type cursor struct {
	sent  apiv1.Container_State
	lines uint64
}

func newSession(a *Agent, c *link.Conn, w *agentv1.Welcome) *session {
	s := &session{
		agent: a, conn: c, changeConfirms: w.GetChangeConfirms(), cursors: map[string]*cursor{}, shutdown: make(chan struct{}),
		work: map[string]bool{}, unconfirmed: map[string]bool{}, more: make(chan struct{}, 1),
	}
	for _, k := range w.GetContainers() {
		s.cursors[k.GetContainerId()] = &cursor{sent: k.GetAcked(), lines: k.GetLogNextSeq()}
	}
	return s
}

// runSession exchanges messages until the connection breaks. It returns nil if the master asked the
// agent to shut down.
func (s *session) runSession(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var home error
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.readMessages(gctx) })
	g.Go(func() error { return s.writeMessages(gctx) })
	g.Go(func() error {
		home = s.awaitShutdown(gctx)
		return home
	})
	g.Go(func() error {
		select {
		case <-gctx.Done():
			return nil
		case <-s.agent.swapped:
			return &link.Final{Err: &SupersededError{s.agent.cfg.Program}}
		}
	})
	err := g.Wait()
	if errors.Is(home, errShutdown) {
		return nil
	}
	return err
}

func (s *session) readMessages(ctx context.Context) error {
	for {
		m, err := s.conn.Receive(ctx)
		if err != nil {
			return err
		}
		s.takeMessage(m)
	}
}

// takeMessage handles one message. Any message may be repeated, late, or for a container that no
// longer exists.
func (s *session) takeMessage(m *agentv1.MasterMessage) {
	switch b := m.GetBody().(type) {
	case *agentv1.MasterMessage_Start:
		s.takeStart(b.Start)
	case *agentv1.MasterMessage_Signal:
		s.takeSignal(b.Signal)
	case *agentv1.MasterMessage_Ack:
		s.takeAck(b.Ack)
	case *agentv1.MasterMessage_LogAck:
		if u := s.agent.taskOf(b.LogAck.GetContainerId()); u != nil {
			u.AckLogs(b.LogAck.GetNextSeq())
			s.touchContainer(u.ID())
		}
	case *agentv1.MasterMessage_OpenStream:
		s.takeOpenStream(b.OpenStream)
	case *agentv1.MasterMessage_Shutdown:
		s.agent.cfg.Log.Info("shutting down at the master's request", "reason", b.Shutdown.GetReason())
		select {
		case <-s.shutdown:
		default:
			close(s.shutdown)
		}
	default:
		s.agent.cfg.Log.Debug("ignoring an unknown message from the master")
	}
}

// takeStart stores an order and schedules its confirmation. If the order cannot be stored, it
// reports that the container did not start.
func (s *session) takeStart(o *agentv1.Start) {
	id := o.GetContainerId()
	err := s.agent.addTask(o)
	if err != nil {
		s.agent.startFailed(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.agent.cfg.Log.Warn("cannot store an order", "container", id, "err", err)
		s.refuseStart(o, err)
		return
	}
	s.unconfirmed[id], s.work[id] = true, true
	s.wakeLater()
}

// refuseStart reports a container that was not started as terminated. The caller holds mu.
func (s *session) refuseStart(o *agentv1.Start, why error) {
	exit := task.NotStarted(why)
	s.direct = append(s.direct, changeMessage(o, lifecycle.Terminated, time.Now().UnixMicro(), &exit))
	wakeWaiter(s.more)
}

func (s *session) takeSignal(sig *agentv1.Signal) {
	u := s.agent.taskOf(sig.GetContainerId())
	if u == nil {
		return
	}
	switch sig.GetKind() {
	case agentv1.Signal_KIND_KILL:
		u.RequestEnd(false, 0)
	case agentv1.Signal_KIND_TERMINATE:
		grace := time.Duration(sig.GetGraceUs()) * time.Microsecond
		if grace <= 0 {
			grace = -1
		}
		u.RequestEnd(true, grace)
	default:
		s.agent.cfg.Log.Warn("ignoring an unknown signal from the master", "container", sig.GetContainerId(), "signal", sig.GetKind().String())
	}
}

// takeOpenStream serves a stream into a container until it has ended. Streams outlive the connection, but
// not the agent.
func (s *session) takeOpenStream(o *agentv1.OpenStream) {
	s.agent.spawn(func(ctx context.Context) {
		if err := s.agent.serveStream(ctx, o, s.conn.DialStream); err != nil && ctx.Err() == nil {
			s.agent.cfg.Log.Debug("cannot open a stream", "container", o.GetContainerId(), "err", err)
			s.sendDirect(streams.FailureOf(o, err))
		}
	})
}

func (a *Agent) serveStream(ctx context.Context, o *agentv1.OpenStream, dial streams.Dial) error {
	e, ok := a.runtime.(container.Entrance)
	switch {
	case a.taskOf(o.GetContainerId()) == nil:
		return container.ErrNotRunning
	case !ok:
		return streams.ErrNoEntrance
	}
	return streams.Serve(ctx, e, o, dial)
}

func (s *session) sendDirect(m *agentv1.AgentMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.direct = append(s.direct, m)
	wakeWaiter(s.more)
}

// takeAck forgets a container when its exit is acknowledged. Earlier states need no handling,
// because the welcome of the next connection contains the last acknowledged state.
func (s *session) takeAck(a *agentv1.Ack) {
	u := s.agent.taskOf(a.GetContainerId())
	if u != nil && a.GetState() == apiv1.Container_STATE_TERMINATED && u.View().State.State == lifecycle.Terminated {
		u.Forget()
	}
}

// errShutdown ends a session whose agent was asked to shut down.
var errShutdown = errors.New("the agent was asked to shut down")

// awaitShutdown waits for the master's request to shut down, stops the containers and then ends the
// session.
func (s *session) awaitShutdown(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-s.shutdown:
	}
	for _, u := range s.agent.listTasks() {
		u.RequestEnd(true, shutdownGrace)
	}
	ctx, cancel := context.WithTimeout(ctx, shutdownPatience)
	defer cancel()
	for len(s.agent.listTasks()) > 0 {
		if wait.For(ctx, 50*time.Millisecond) != nil {
			s.agent.cfg.Log.Warn("containers are still running", "containers", len(s.agent.listTasks()))
			break
		}
	}
	return errShutdown
}

// endAll kills all containers, because the master restarts them elsewhere.
func (a *Agent) endAll(ctx context.Context) {
	for _, u := range a.listTasks() {
		u.RequestEnd(false, 0)
	}
	ctx, cancel := context.WithTimeout(ctx, shutdownPatience)
	defer cancel()
	for a.countLiving() > 0 {
		if wait.For(ctx, 50*time.Millisecond) != nil {
			a.cfg.Log.Warn("containers are still running", "containers", a.countLiving())
			return
		}
	}
}

// countLiving returns the number of containers that have not exited.
func (a *Agent) countLiving() int {
	n := 0
	for _, u := range a.listTasks() {
		if u.View().State.State != lifecycle.Terminated {
			n++
		}
	}
	return n
}

func wakeWaiter(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
