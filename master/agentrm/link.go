package agentrm

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
	"google.golang.org/protobuf/proto"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
	"github.com/det-deploy/det-deploy/master/rm"
)

type message = *agentv1.MasterMessage

// link is the connection to one agent. An agent that says nothing and is sent nothing costs
// the goroutine that reads: the others begin when there is something to do.
type link struct {
	agent   rm.AgentID
	address string
	conn    *websocket.Conn
	limits  Limits
	log     *slog.Logger
	cancel  context.CancelCauseFunc
	writing atomic.Bool
	pinging atomic.Bool
	// began is when the link was made, and heard when the agent said something last, a ping
	// among others, in nanoseconds after that.
	began time.Time
	heard atomic.Int64
	// admitted makes room for the next one who waits to be.
	admitted func(ctx context.Context)
	// unanswered holds a token for every message that is being stored.
	unanswered chan struct{}
	ignored    atomic.Bool // nothing that the agent says counts any more

	mu    sync.Mutex // guards what follows
	queue []message
	// sending says that what is queued is on its way.
	sending bool
	// begin starts work of the link; it is nil before the link is served and after. What
	// is to begin before is in early.
	begin func(linkWork)
	early []linkWork
	ended bool
}

// linkWork ends the link with its error, unless that is nil.
type linkWork func(ctx context.Context) error

func newLink(address string, limits Limits, cancel context.CancelCauseFunc) *link {
	return &link{
		address: address, limits: limits, cancel: cancel, began: time.Now(),
		unanswered: make(chan struct{}, limits.Unanswered),
	}
}

// raiseLimits lets an admitted agent send as much as it needs.
func (l *link) raiseLimits(ctx context.Context) {
	l.conn.SetReadLimit(l.limits.Message)
	l.admitted(ctx)
}

// startServing has work begun from now on, with begin, first what has waited for it.
func (l *link) startServing(begin func(linkWork)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begin = begin
	for _, work := range l.early {
		begin(work)
	}
	l.early = nil
}

// stopServing has no more work begun.
func (l *link) stopServing() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begin, l.ended, l.early = nil, true, nil
}

// beginWork starts work, or has it start when the link is served. The caller holds mu.
func (l *link) beginWork(work linkWork) {
	switch {
	case l.begin != nil:
		l.begin(work)
	case !l.ended:
		l.early = append(l.early, work)
	}
}

var errSlow = errors.New("it reads too slowly")

// sendMessage queues m. It never waits: an agent that lets the queue grow is dropped,
// and hears everything again when it comes back.
func (l *link) sendMessage(m message) {
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

// closeLink ends the link.
func (l *link) closeLink(reason string) { l.cancel(errors.New(reason)) }

// sendRevoked has the agent told that it is revoked, and then ends the link.
func (l *link) sendRevoked(reason string) {
	if l.ignored.Swap(true) {
		return // it is on its way out
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.beginWork(func(ctx context.Context) error {
		why := &Refused{Reason: reason, Final: true, Revoked: true}
		l.sendRefusal(ctx, why)
		return errors.New(why.Reason)
	})
}

// writeMessages sends what is queued, and returns when nothing is.
func (l *link) writeMessages(ctx context.Context) error {
	for {
		batch := l.takeQueue()
		if batch == nil {
			return nil
		}
		for _, m := range batch {
			if err := l.writeOne(ctx, m); err != nil {
				return err
			}
		}
	}
}

func (l *link) takeQueue() []message {
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

func (l *link) writeOne(ctx context.Context, m message) error {
	b, err := proto.Marshal(m)
	if err != nil {
		return fmt.Errorf("encode message for agent %s: %w", l.agent, err)
	}
	l.writing.Store(true)
	defer l.writing.Store(false)
	ctx, cancel := context.WithTimeout(ctx, l.limits.Write+time.Duration(len(b)/slowest)*time.Second)
	defer cancel()
	if err := l.conn.Write(ctx, websocket.MessageBinary, b); err != nil {
		return fmt.Errorf("write to agent %s: %w", l.agent, err)
	}
	return nil
}

// sendRefusal tells an agent why it is not wanted, if that is what err is.
func (l *link) sendRefusal(ctx context.Context, err error) {
	var refused *Refused
	if !errors.As(err, &refused) {
		return
	}
	l.log.Warn("agent refused", "agent_id", l.agent, "address", l.address, "err", refused)
	m := &agentv1.MasterMessage{Body: &agentv1.MasterMessage_Refusal{Refusal: &agentv1.Refusal{
		Reason: refused.Reason, Final: refused.Final, Rejoin: refused.Rejoin, Unwanted: refused.Unwanted,
		Revoked: refused.Revoked,
	}}}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.limits.Hello)
	defer cancel()
	if err := l.writeOne(ctx, m); err != nil {
		l.log.Debug("cannot send refusal", "address", l.address, "err", err)
		return
	}
	_ = l.conn.Close(websocket.StatusPolicyViolation, "refused") // the agent has been told; how it leaves is its affair
}

// readMessages hands on what the agent says until the link breaks, or ctx ends, which closes it.
func (l *link) readMessages(ctx context.Context, take func(context.Context, *agentv1.AgentMessage) error) error {
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
		return nil, refuseFinal("the agent sends text; this master speaks binary protobuf")
	}
	m := &agentv1.AgentMessage{}
	if err := proto.Unmarshal(b, m); err != nil {
		return nil, refuseFinal("the agent sends what is no message of this link")
	}
	return m, nil
}
