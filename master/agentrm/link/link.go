// Package link implements a master's connection to one agent: it queues messages, limits the time in
// which the agent must read and answer, and sends refusals.
package link

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
	"google.golang.org/protobuf/proto"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
	"github.com/det-deploy/det-deploy/master/rm"
)

// Message is a message of the master.
type Message = *agentv1.MasterMessage

// Link is the connection to one agent. A silent link costs one goroutine, the reader; others start only
// when there is work.
type Link struct {
	// Agent is the agent's id once it is known, Address its remote address.
	Agent   rm.AgentID
	Address string
	Log     *slog.Logger
	// Admitted is called once the agent is admitted, so that its place is freed for the next connection.
	Admitted func(ctx context.Context)

	conn    *websocket.Conn
	limits  Limits
	cancel  context.CancelCauseFunc
	writing atomic.Bool
	pinging atomic.Bool
	// began is when the link was created, and heard is when the agent last sent something, including a
	// ping, in nanoseconds after that.
	began time.Time
	heard atomic.Int64
	// unanswered holds a token for every message that is being stored.
	unanswered chan struct{}
	ignored    atomic.Bool // the agent's messages are ignored from now on

	mu    sync.Mutex // guards the fields below
	queue []Message
	// sending is set while queued messages are being sent.
	sending bool
	// begin starts work of the link; it is nil before the link is served and after. Work that is to
	// start before is in early.
	begin func(Work)
	early []Work
	ended bool
}

// Work ends the link if it returns an error.
type Work func(ctx context.Context) error

// New returns a link without a connection. Cancel ends the link with an error.
func New(address string, limits Limits, cancel context.CancelCauseFunc) *Link {
	return &Link{
		Address: address, limits: limits, cancel: cancel, began: time.Now(),
		unanswered: make(chan struct{}, limits.Unanswered),
	}
}

// Accept upgrades the agent's request to a WebSocket connection.
func (l *Link) Accept(w http.ResponseWriter, req *http.Request) error {
	conn, err := websocket.Accept(w, req, &websocket.AcceptOptions{
		OnPingReceived: func(context.Context, []byte) bool { l.noteHeard(); return true },
	})
	if err != nil {
		return err
	}
	conn.SetReadLimit(l.limits.Introduction)
	l.conn = conn
	return nil
}

// HangUp closes the connection if it is open.
func (l *Link) HangUp() { _ = l.conn.CloseNow() } // after an orderly close it is already closed

// Admit raises the message limit of an admitted agent and frees its place.
func (l *Link) Admit(ctx context.Context) {
	l.conn.SetReadLimit(l.limits.Message)
	l.Admitted(ctx)
}

// Serve starts work with begin from now on, beginning with the work that has waited for it.
func (l *Link) Serve(begin func(Work)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begin = begin
	for _, work := range l.early {
		begin(work)
	}
	l.early = nil
}

// Stop keeps further work from starting.
func (l *Link) Stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begin, l.ended, l.early = nil, true, nil
}

// beginWork starts work now, or once the link is served. The caller holds mu.
func (l *Link) beginWork(work Work) {
	switch {
	case l.begin != nil:
		l.begin(work)
	case !l.ended:
		l.early = append(l.early, work)
	}
}

var errSlow = errors.New("the agent reads too slowly")

// Send queues m. It does not block: a connection whose queue is full is dropped, and the agent receives
// everything again when it reconnects.
func (l *Link) Send(m Message) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) >= l.limits.Queue {
		l.cancel(errSlow)
		return
	}
	l.queue = append(l.queue, m)
	if !l.sending {
		l.sending = true
		l.beginWork(l.writeMessages)
	}
}

// End ends the link with an error, which may be nil. The first one counts.
func (l *Link) End(err error) { l.cancel(err) }

// Close ends the link with a reason.
func (l *Link) Close(reason string) { l.End(errors.New(reason)) }

// Revoke sends the agent a refusal that revokes it, and then ends the link.
func (l *Link) Revoke(reason string) {
	if l.ignored.Swap(true) {
		return // it is already being revoked
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.beginWork(func(ctx context.Context) error {
		why := &Refused{Reason: reason, Final: true, Revoked: true}
		l.Refuse(ctx, why)
		return errors.New(why.Reason)
	})
}

// writeMessages sends the queued messages, and returns when the queue is empty.
func (l *Link) writeMessages(ctx context.Context) error {
	for {
		batch := l.takeQueue()
		if batch == nil {
			return nil
		}
		for _, m := range batch {
			if err := l.Write(ctx, m); err != nil {
				return err
			}
		}
	}
}

func (l *Link) takeQueue() []Message {
	l.mu.Lock()
	defer l.mu.Unlock()
	batch := l.queue
	l.queue = nil
	l.sending = batch != nil
	return batch
}

// slowest is the minimum rate, in bytes a second, at which an agent must read a large message: a start
// carries the files of its task, up to 95 MiB.
const slowest = 1 << 20

// Write sends one message immediately, ahead of the queued ones.
func (l *Link) Write(ctx context.Context, m Message) error {
	b, err := proto.Marshal(m)
	if err != nil {
		return fmt.Errorf("encode message for agent %s: %w", l.Agent, err)
	}
	l.writing.Store(true)
	defer l.writing.Store(false)
	ctx, cancel := context.WithTimeout(ctx, l.limits.Write+time.Duration(len(b)/slowest)*time.Second)
	defer cancel()
	if err := l.conn.Write(ctx, websocket.MessageBinary, b); err != nil {
		return fmt.Errorf("write to agent %s: %w", l.Agent, err)
	}
	return nil
}

// Refuse sends the reason to an agent if err is a *Refused.
func (l *Link) Refuse(ctx context.Context, err error) {
	var refused *Refused
	if !errors.As(err, &refused) {
		return
	}
	l.Log.Warn("agent refused", "agent_id", l.Agent, "address", l.Address, "err", refused)
	m := &agentv1.MasterMessage{Body: &agentv1.MasterMessage_Refusal{Refusal: &agentv1.Refusal{
		Reason: refused.Reason, Final: refused.Final, Rejoin: refused.Rejoin, Unwanted: refused.Unwanted,
		Revoked: refused.Revoked,
	}}}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.limits.Hello)
	defer cancel()
	if err := l.Write(ctx, m); err != nil {
		l.Log.Debug("cannot send refusal", "address", l.Address, "err", err)
		return
	}
	_ = l.conn.Close(websocket.StatusPolicyViolation, "refused") // the reason was sent
}

// ReadHello returns the agent's hello. It returns an error if the first message is something else.
func (l *Link) ReadHello(ctx context.Context) (*agentv1.Hello, error) {
	ctx, cancel := context.WithTimeout(ctx, l.limits.Hello)
	defer cancel()
	m, err := readMessage(ctx, l.conn)
	if err != nil {
		return nil, err
	}
	if m.GetHello() == nil {
		return nil, Final("the first message of an agent must be its hello")
	}
	return m.GetHello(), nil
}

// Read passes the agent's messages to take until the link breaks or take returns an error. When ctx is
// done the connection is closed.
func (l *Link) Read(ctx context.Context, take func(context.Context, *agentv1.AgentMessage) error) error {
	for {
		m, err := readMessage(ctx, l.conn)
		if err != nil {
			return err
		}
		l.noteHeard()
		if l.ignored.Load() {
			continue
		}
		if err := take(ctx, m); err != nil {
			return err
		}
	}
}

func readMessage(ctx context.Context, conn *websocket.Conn) (*agentv1.AgentMessage, error) {
	kind, b, err := conn.Read(ctx)
	if err != nil {
		return nil, fmt.Errorf("read from agent: %w", err)
	}
	if kind != websocket.MessageBinary {
		return nil, Final("the agent sent a text message; this master expects binary protobuf")
	}
	m := &agentv1.AgentMessage{}
	if err := proto.Unmarshal(b, m); err != nil {
		return nil, Final("the agent sent an invalid message")
	}
	return m, nil
}

// AwaitAnswers waits while too many messages of an agent are not stored yet, so that a slow store slows
// its writers. The caller calls Answered once the message is stored.
func (l *Link) AwaitAnswers(ctx context.Context) error {
	select {
	case l.unanswered <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Answered allows another message to be read.
func (l *Link) Answered() { <-l.unanswered }
