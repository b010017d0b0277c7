// Package streams opens streams into the containers of agents: it orders each from the agent, and accepts
// the websocket that the agent opens in answer, once and with the agent's credential.
package streams

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/token"
)

// Bounds of open streams. Each costs its master and its agent a connection or two, and a program up to a
// megabyte of input that it has not read.
const (
	PerContainer         = 256
	ProgramsPerContainer = 64
	PerAgent             = 1024
	PerMaster            = 4096
)

// Config configures Streams.
type Config struct {
	Log *slog.Logger
	// Check returns an error if the credential of a request is not one of an agent.
	Check func(req *http.Request, id rm.AgentID, credential token.Text) error
	// Admitted is called with the context of the request of an accepted stream.
	Admitted func(ctx context.Context)
	// Patience is the time for an agent to open a stream, and for the last output of the programs of a
	// container that has ended.
	Patience time.Duration
}

// Streams are the streams that are open or ordered.
type Streams struct {
	cfg Config
	// serving counts the requests of agents.
	serving sync.WaitGroup

	mu      sync.Mutex // guards the fields below
	stopped error
	orders  map[string]*Order
	// count is by container, by agent, and by container for programs.
	count map[any]int
}

// programsOf counts the programs of a container.
type programsOf rm.ContainerID

// New returns Streams without streams.
func New(c Config) *Streams {
	return &Streams{cfg: c, orders: make(map[string]*Order), count: make(map[any]int)}
}

// Order is a place for a stream, and the stream.
type Order struct {
	id        string
	agent     rm.AgentID
	container rm.ContainerID
	program   bool
	// ctx lives as long as the stream.
	ctx    context.Context //nolint:containedctx // see above
	cancel context.CancelCauseFunc
	// taken means that an agent's request has answered the order. Streams.mu guards it.
	taken bool
	// open is called with the agent's websocket. Its result is closed when the stream has ended.
	open opener
	// answer is the result of open, or the agent's reason.
	answer chan error
}

// errEnded is the cause of the end of a stream that ended by itself.
var errEnded = errors.New("the stream has ended")

// Reserve returns a place for a stream into a container, which one of Dial, Exec, ReadFiles and WriteFiles
// uses or frees. It returns rm.ErrTooManyStreams if there is none.
// The stream may outlive ctx.
func (s *Streams) Reserve(ctx context.Context, agent rm.AgentID, container rm.ContainerID, program bool) (*Order, error) {
	o := &Order{id: rand.Text(), agent: agent, container: container, program: program, answer: make(chan error, 1)}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped != nil {
		return nil, s.stopped
	}
	if s.isFull(o) {
		return nil, rm.ErrTooManyStreams
	}
	o.ctx, o.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	context.AfterFunc(o.ctx, func() { s.free(o) }) //nolint:contextcheck // the stream's
	s.orders[o.id] = o
	s.add(o, 1)
	return o, nil
}

// Open returns the number of streams that are open or ordered.
func (s *Streams) Open() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.orders)
}

func (s *Streams) isFull(o *Order) bool {
	return len(s.orders) >= PerMaster || s.count[o.agent] >= PerAgent || s.count[o.container] >= PerContainer ||
		o.program && s.count[programsOf(o.container)] >= ProgramsPerContainer
}

func (s *Streams) free(o *Order) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.orders, o.id)
	s.add(o, -1)
}

func (s *Streams) add(o *Order, n int) {
	keys := []any{o.agent, o.container}
	if o.program {
		keys = append(keys, programsOf(o.container))
	}
	for _, k := range keys {
		if s.count[k] += n; s.count[k] == 0 {
			delete(s.count, k)
		}
	}
}

// EndContainer ends the streams of a container that has ended: soon, so that the last output of its
// programs arrives, or at once.
func (s *Streams) EndContainer(id rm.ContainerID, atOnce bool) {
	end := func() {
		s.endAll(func(o *Order) bool { return o.container == id }, rm.ErrNotRunning)
	}
	s.mu.Lock()
	open := s.count[id] > 0
	s.mu.Unlock()
	switch {
	case !open:
	case atOnce:
		end()
	default:
		time.AfterFunc(s.cfg.Patience, end)
	}
}

// EndAgent ends the streams of an agent that was removed.
func (s *Streams) EndAgent(id rm.AgentID, reason string) {
	s.endAll(func(o *Order) bool { return o.agent == id }, &rm.UnreachableError{Reason: reason})
}

// Stop ends all streams, and returns when no request of an agent is served any more. No others are
// reserved.
func (s *Streams) Stop(reason string) {
	err := &rm.UnreachableError{Reason: reason}
	s.mu.Lock()
	s.stopped = err
	s.mu.Unlock()
	s.endAll(func(*Order) bool { return true }, err)
	s.serving.Wait()
}

func (s *Streams) endAll(which func(*Order) bool, cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.orders {
		if which(o) {
			o.cancel(cause)
		}
	}
}
