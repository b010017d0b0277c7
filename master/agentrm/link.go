package agentrm

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
	"google.golang.org/protobuf/proto"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
	"github.com/det-deploy/det-deploy/master/rm"
)

type message = *agentv1.MasterMessage

// link is the connection to one agent: a reader, a writer and a pinger.
type link struct {
	agent   rm.AgentID
	address string
	conn    *websocket.Conn
	limits  Limits
	cancel  context.CancelCauseFunc
	more    chan struct{}
	pingNow chan struct{}
	writing atomic.Bool
	// admitted makes room for the next one who waits to be.
	admitted func(ctx context.Context)
	// unanswered holds a token for every message that is being stored.
	unanswered chan struct{}
	// revoked gets the reason for which the agent must go.
	revoked chan *Refused
	ignored atomic.Bool // nothing that the agent says counts any more

	// mu guards queue.
	mu    sync.Mutex
	queue []message
}

func newLink(address string, conn *websocket.Conn, limits Limits, cancel context.CancelCauseFunc) *link {
	return &link{
		address: address, conn: conn, limits: limits, cancel: cancel,
		more: make(chan struct{}, 1), pingNow: make(chan struct{}, 1),
		unanswered: make(chan struct{}, limits.Unanswered), revoked: make(chan *Refused, 1),
	}
}

// raiseLimits lets an admitted agent send as much as it needs.
func (l *link) raiseLimits(ctx context.Context) {
	l.conn.SetReadLimit(l.limits.Message)
	l.admitted(ctx)
}

var errSlow = errors.New("it reads too slowly")

// sendMessage queues m. It never waits: an agent that lets the queue grow is dropped,
// and hears everything again when it comes back.
func (l *link) sendMessage(m message) {
	l.mu.Lock()
	full := len(l.queue) >= l.limits.Queue
	if !full {
		l.queue = append(l.queue, m)
	}
	l.mu.Unlock()
	if full {
		l.cancel(errSlow)
		return
	}
	select {
	case l.more <- struct{}{}:
	default:
	}
}

// closeLink ends the link.
func (l *link) closeLink(reason string) { l.cancel(errors.New(reason)) }

// sendRevoked has the agent told that it is revoked, and then ends the link.
func (l *link) sendRevoked(reason string) {
	l.ignored.Store(true)
	select {
	case l.revoked <- &Refused{Reason: reason, Final: true, Revoked: true}:
	default: // it is on its way out
	}
}

// pingSoon pings soon, for someone who thinks that the link is dead.
func (l *link) pingSoon() {
	select {
	case l.pingNow <- struct{}{}:
	default:
	}
}

// writeMessages sends what is queued until ctx ends.
func (l *link) writeMessages(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-l.more:
		}
		l.mu.Lock()
		batch := l.queue
		l.queue = nil
		l.mu.Unlock()
		for _, m := range batch {
			if err := l.writeOne(ctx, m); err != nil {
				return err
			}
		}
	}
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

// pingAgent finds out when the other end has vanished without a word.
func (l *link) pingAgent(ctx context.Context) error {
	tick := time.NewTicker(l.limits.Ping)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		case <-l.pingNow:
		}
		if l.writing.Load() {
			continue // a ping would wait behind the message, which has its own limit
		}
		if err := l.pingOnce(ctx); err != nil {
			return fmt.Errorf("ping agent %s: %w", l.agent, err)
		}
	}
}

func (l *link) pingOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, l.limits.Ping)
	defer cancel()
	return l.conn.Ping(ctx)
}

// readMessages hands on what the agent says until the link breaks.
func (l *link) readMessages(ctx context.Context, take func(context.Context, *agentv1.AgentMessage) error) error {
	for {
		m, err := readMessage(ctx, l.conn)
		if err != nil {
			return err
		}
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
