package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/det-deploy/det-deploy/agent/lifecycle"
	"github.com/det-deploy/det-deploy/agent/link"
	"github.com/det-deploy/det-deploy/agent/task"
	"github.com/det-deploy/det-deploy/delay"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

const (
	// batchSize is how much text in bytes one message of lines carries.
	batchSize = 256 << 10
	// window is how many lines of one container may be under way.
	window = 50_000
	// shutdownGrace is between asking containers to end and killing them when
	// the master sends the agent home, and shutdownPatience bounds it all.
	shutdownGrace    = 10 * time.Second
	shutdownPatience = 60 * time.Second
)

// session is what one connection has said already. Everything else is on
// disk, so that the next connection can say it again.
type session struct {
	agent *Agent
	conn  *link.Conn

	// cursors belong to the writer.
	cursors map[string]*cursor
	// shutdown is closed when the master sends the agent home.
	shutdown chan struct{}

	// mu guards what follows.
	mu          sync.Mutex
	work        map[string]bool // containers to look at
	unconfirmed map[string]bool // orders to confirm
	direct      []*agentv1.AgentMessage
	more        chan struct{}
}

// cursor is how far the writer is with one container.
type cursor struct {
	sent  apiv1.Container_State
	lines uint64
}

func newSession(a *Agent, c *link.Conn, w *agentv1.Welcome) *session {
	s := &session{
		agent: a, conn: c, cursors: map[string]*cursor{}, shutdown: make(chan struct{}),
		work: map[string]bool{}, unconfirmed: map[string]bool{}, more: make(chan struct{}, 1),
	}
	for _, k := range w.GetContainers() {
		s.cursors[k.GetContainerId()] = &cursor{sent: k.GetAcked(), lines: k.GetLogNextSeq()}
	}
	return s
}

// runSession speaks until the connection breaks or the master sends the agent home,
// which gives nil.
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

// touchContainer has the writer look at a container.
func (s *session) touchContainer(id string) {
	s.mu.Lock()
	s.work[id] = true
	s.mu.Unlock()
	wakeWaiter(s.more)
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

// takeMessage acts on one message. Any may come twice, late, or for a container that
// is long gone.
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
	case *agentv1.MasterMessage_Shutdown:
		s.agent.cfg.Log.Info("the master sends this agent home", "reason", b.Shutdown.GetReason())
		select {
		case <-s.shutdown:
		default:
			close(s.shutdown)
		}
	default:
		s.agent.cfg.Log.Debug("the master says what this version does not know")
	}
}

// takeStart writes the order down and owes the confirmation. An order that
// cannot be kept is a container that never starts.
func (s *session) takeStart(o *agentv1.Start) {
	id := o.GetContainerId()
	err := s.agent.addTask(o)
	if err != nil {
		s.agent.startFailed(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.agent.cfg.Log.Warn("cannot keep an order", "container", id, "err", err)
		s.refuseStart(o, err)
		return
	}
	s.unconfirmed[id], s.work[id] = true, true
	wakeWaiter(s.more)
}

// refuseStart ends a container that is never started; the caller holds mu.
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
		s.agent.cfg.Log.Warn("the master sends a signal that this version does not know", "container", sig.GetContainerId(), "signal", sig.GetKind().String())
	}
}

// takeAck forgets a container whose end is stored. States before it need no
// acknowledgement here: the welcome of the next connection names the last.
func (s *session) takeAck(a *agentv1.Ack) {
	u := s.agent.taskOf(a.GetContainerId())
	if u != nil && a.GetState() == apiv1.Container_STATE_TERMINATED && u.View().State.State == lifecycle.Terminated {
		u.Forget()
	}
}

// writeMessages sends what is due, a little of each container in turn.
func (s *session) writeMessages(ctx context.Context) error {
	for {
		if err := s.writeAll(ctx); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.more:
		}
	}
}

func (s *session) writeAll(ctx context.Context) error {
	for {
		direct, ids := s.collectPending()
		if len(direct)+len(ids) == 0 {
			return nil
		}
		for _, m := range direct {
			if err := s.conn.Send(ctx, m); err != nil {
				return err
			}
		}
		for _, id := range ids {
			if err := s.sendContainer(ctx, id); err != nil {
				return err
			}
		}
	}
}

func (s *session) collectPending() (direct []*agentv1.AgentMessage, ids []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	direct, s.direct = s.direct, nil
	for id := range s.unconfirmed {
		direct = append(direct, &agentv1.AgentMessage{Body: &agentv1.AgentMessage_Received{Received: &agentv1.Received{ContainerId: id}}})
	}
	clear(s.unconfirmed)
	ids = slices.Collect(maps.Keys(s.work))
	clear(s.work)
	return direct, ids
}

// sendContainer says the state of one container and some of its lines; where more is
// to be said it comes round again.
func (s *session) sendContainer(ctx context.Context, id string) error {
	u := s.agent.taskOf(id)
	if u == nil {
		delete(s.cursors, id)
		return nil
	}
	c := s.cursors[id]
	if c == nil {
		c = &cursor{}
		s.cursors[id] = c
	}
	v := u.View()
	if v.Forgotten {
		return nil
	}
	if state := v.State.State; state != lifecycle.Terminated && c.sent < state.Proto() {
		if err := s.conn.Send(ctx, changeOf(u, v)); err != nil {
			return err
		}
		c.sent = state.Proto()
	}
	if err := s.sendLines(ctx, u, c, v); err != nil {
		return err
	}
	complete := v.Acked >= v.Lines || v.Unread != ""
	if v.State.State == lifecycle.Terminated && complete && c.sent < apiv1.Container_STATE_TERMINATED {
		c.sent = apiv1.Container_STATE_TERMINATED
		return s.conn.Send(ctx, changeOf(u, v))
	}
	return nil
}

func (s *session) sendLines(ctx context.Context, u *task.Task, c *cursor, v task.View) error {
	if c.lines >= v.Lines || c.lines >= v.Acked+window || v.Unread != "" {
		return nil
	}
	lines, err := u.Journal.Read(c.lines, batchSize)
	if err != nil {
		u.Log.Error("cannot read log lines back", "err", err)
		u.SetUnread(fmt.Sprintf("log lines from %d on could not be read back: %v", c.lines, err))
		s.touchContainer(u.ID())
		return nil // the end of the container tells of it
	}
	m := &agentv1.Logs{
		ContainerId: u.ID(), AllocationId: u.Order.GetAllocationId(), FirstSeq: c.lines,
		Lines: make([]*agentv1.Line, len(lines)),
	}
	for i, l := range lines {
		m.Lines[i] = &agentv1.Line{AtUs: l.At.UnixMicro(), Stdtype: l.Stream, Text: l.Text}
	}
	c.lines += uint64(len(lines))
	if c.lines < v.Lines {
		s.touchContainer(u.ID())
	}
	return s.conn.Send(ctx, &agentv1.AgentMessage{Body: &agentv1.AgentMessage_Logs{Logs: m}})
}

// changeOf is the unit's state as a message.
func changeOf(u *task.Task, v task.View) *agentv1.AgentMessage {
	exit := v.State.Exit
	if exit != nil && v.Unread != "" {
		with := *exit
		with.Message = strings.TrimPrefix(with.Message+"; "+v.Unread, "; ")
		exit = &with
	}
	m := changeMessage(u.Order, v.State.State, v.State.AtMicros, exit)
	for _, a := range v.Addresses {
		m.GetChange().Addresses = append(m.GetChange().GetAddresses(), &apiv1.Address{
			ContainerIp: a.ContainerIP, ContainerPort: int32(a.ContainerPort),
			HostIp: a.HostIP, HostPort: int32(a.HostPort),
		})
	}
	return m
}

func changeMessage(o *agentv1.Start, state lifecycle.State, at int64, exit *lifecycle.Exit) *agentv1.AgentMessage {
	c := &agentv1.Change{
		ContainerId: o.GetContainerId(), AllocationId: o.GetAllocationId(), State: state.Proto(), AtUs: at,
	}
	if exit != nil {
		c.Exit = exit.Proto()
	}
	return &agentv1.AgentMessage{Body: &agentv1.AgentMessage_Change{Change: c}}
}

// errShutdown ends a session whose agent was asked to shut down.
var errShutdown = errors.New("the agent was asked to shut down")

// awaitShutdown ends the containers when the master says so, and then the
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
		if delay.For(ctx, 50*time.Millisecond) != nil {
			s.agent.cfg.Log.Warn("containers are left behind", "containers", len(s.agent.listTasks()))
			break
		}
	}
	return errShutdown
}

// endAll kills what runs, for a master that starts it elsewhere.
func (a *Agent) endAll(ctx context.Context) {
	for _, u := range a.listTasks() {
		u.RequestEnd(false, 0)
	}
	ctx, cancel := context.WithTimeout(ctx, shutdownPatience)
	defer cancel()
	for a.countLiving() > 0 {
		if delay.For(ctx, 50*time.Millisecond) != nil {
			a.cfg.Log.Warn("containers are left behind", "containers", a.countLiving())
			return
		}
	}
}

// countLiving counts the containers that have not ended.
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
