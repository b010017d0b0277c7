// Package link connects a master to one agent: it queues messages, bounds how long the agent may take to
// read and to answer, and sends refusals.
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

// Message is what a master sends.
type Message = *agentv1.MasterMessage

// Link is the connection to one agent. An agent that says nothing and is sent nothing costs
// the goroutine that reads: the others begin when there is something to do.
type Link struct {
	// Agent is at the other end, once it is known, and Address is where that is.
	Agent   rm.AgentID
	Address string
	Log     *slog.Logger
	// Admitted makes room for the next one who waits to be.
	Admitted func(ctx context.Context)

	conn    *websocket.Conn
	limits  Limits
	cancel  context.CancelCauseFunc
	writing atomic.Bool
	pinging atomic.Bool
	// began is when the link was made, and heard when the agent said something last, a ping
	// among others, in nanoseconds after that.
	began time.Time
	heard atomic.Int64
	// unanswered holds a token for every message that is being stored.
	unanswered chan struct{}
	ignored    atomic.Bool // nothing that the agent says counts any more

	mu    sync.Mutex // guards what follows
	queue []Message
	// sending says that what is queued is on its way.
	sending bool
	// begin starts work of the link; it is nil before the link is served and after. What
	// is to begin before is in early.
	begin func(Work)
	early []Work
	ended bool
}

// Work ends the link with its error, unless that is nil.
type Work func(ctx context.Context) error

// New returns a link that has no connection yet. Cancel ends it with an error.
func New(address string, limits Limits, cancel context.CancelCauseFunc) *Link {
	return &Link{
		Address: address, limits: limits, cancel: cancel, began: time.Now(),
		unanswered: make(chan struct{}, limits.Unanswered),
	}
}

// Accept makes a connection of the agent's request.
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

// HangUp closes the connection, unless it is closed.
func (l *Link) HangUp() { _ = l.conn.CloseNow() } // it is closed in good order where there is an order

// Admit lets an admitted agent send as much as it needs.
func (l *Link) Admit(ctx context.Context) {
	l.conn.SetReadLimit(l.limits.Message)
	l.Admitted(ctx)
}

// Serve has work begun from now on, with begin, first what has waited for it.
func (l *Link) Serve(begin func(Work)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begin = begin
	for _, work := range l.early {
		begin(work)
	}
	l.early = nil
}

// Stop has no more work begun.
func (l *Link) Stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begin, l.ended, l.early = nil, true, nil
}

// beginWork starts work, or has it start when the link is served. The caller holds mu.
func (l *Link) beginWork(work Work) {
	switch {
	case l.begin != nil:
		l.begin(work)
	case !l.ended:
		l.early = append(l.early, work)
	}
}

var errSlow = errors.New("it reads too slowly")

// Send queues m. It never waits: an agent that lets the queue grow is dropped,
// and hears everything again when it comes back.
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

// End ends the link with an error, nil for none. The first one counts.
func (l *Link) End(err error) { l.cancel(err) }

// Close ends the link.
func (l *Link) Close(reason string) { l.End(errors.New(reason)) }

// Revoke has the agent told that it is revoked, and then ends the link.
func (l *Link) Revoke(reason string) {
	if l.ignored.Swap(true) {
		return // it is on its way out
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.beginWork(func(ctx context.Context) error {
		why := &Refused{Reason: reason, Final: true, Revoked: true}
		l.Refuse(ctx, why)
		return errors.New(why.Reason)
	})
}

// writeMessages sends what is queued, and returns when nothing is.
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

// slowest is the rate, in bytes a second, at which an agent must at least take
// a large message: a start carries the files of its task, up to 95 MiB.
const slowest = 1 << 20

// Write sends one message at once, past those that are queued.
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

// Refuse tells an agent why it is not wanted, if that is what err is.
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
	_ = l.conn.Close(websocket.StatusPolicyViolation, "refused") // the agent has been told; how it leaves is its affair
}

// ReadHello waits for the agent's introduction.
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

// Read hands on what the agent says until the link breaks, or ctx ends, which closes it.
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
		return nil, Final("the agent sends text; this master speaks binary protobuf")
	}
	m := &agentv1.AgentMessage{}
	if err := proto.Unmarshal(b, m); err != nil {
		return nil, Final("the agent sends what is no message of this link")
	}
	return m, nil
}

// AwaitAnswers waits while too many messages of an agent are not stored yet: that is how a slow store slows
// its writers. Who has waited calls Answered once the message is stored.
func (l *Link) AwaitAnswers(ctx context.Context) error {
	select {
	case l.unanswered <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Answered lets another message be stored.
func (l *Link) Answered() { <-l.unanswered }
