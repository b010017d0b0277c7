package shim

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// SocketFD is the descriptor of the socket on which a shim listens.
const SocketFD = 3

const (
	// smallHeap is how much of what it has in use a shim's heap may grow while it rests, in percent, and
	// busyHeap while tasks are ordered: to collect each megabyte took a twentieth of what a start takes.
	smallHeap = 25
	busyHeap  = 100
	// firstPatience is how long a shim waits for the agent that started it.
	firstPatience = time.Minute
	// ordersMost is how many orders are carried out at once. Each has three files and a thread that
	// may wait; where they are too many, an agent waits with the next.
	ordersMost = 1000
	// restAfter is how long nothing is ordered before memory is given back.
	restAfter = 5 * time.Second
)

// Config says which shim a process is.
type Config struct {
	// Socket is on which it listens, and Path the name of that.
	Socket *os.File
	Path   string
	Log    *slog.Logger
}

// server is a shim.
type server struct {
	cfg      Config
	children *children
	listener net.Listener
	rest     *time.Timer
	// places are for orders that are being carried out.
	places chan struct{}

	mu sync.Mutex // guards what follows
	// conns are the agents that are connected, and orders how many are being carried out.
	conns  map[*peer]bool
	orders int
	// busy says that something was ordered since it rested.
	busy bool
	// left is closed when no one comes any more.
	left    chan struct{}
	leaving bool
}

// Serve starts the tasks of agents until there is neither an agent nor a task.
func Serve(cfg Config) error {
	l, err := net.FileListener(cfg.Socket)
	if err != nil {
		return fmt.Errorf("%w; only an agent starts its shim", err)
	}
	if err := cfg.Socket.Close(); err != nil {
		return err
	}
	// What ends an agent, or its group, does not end what its tasks need.
	signal.Notify(make(chan os.Signal, 1), unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGQUIT)
	s := &server{cfg: cfg, listener: l, places: make(chan struct{}, ordersMost), conns: map[*peer]bool{}, left: make(chan struct{})}
	s.rest = time.AfterFunc(restAfter, s.beginRest)
	if s.children, err = newChildren(s.tellEnd, s.becomeIdle); err != nil {
		return err
	}
	s.beginRest()
	first := time.AfterFunc(firstPatience, s.leaveIfIdle)
	defer first.Stop()
	cfg.Log.Info("the tasks of an agent are started here", "socket", cfg.Path)
	err = s.accept()
	<-s.left
	return err
}

// beginRest leaves what a shim has that rests.
func (s *server) beginRest() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.orders > 0 {
		return
	}
	s.busy = false
	debug.SetGCPercent(smallHeap)
	debug.FreeOSMemory()
}

// accept serves who connects until the shim leaves.
func (s *server) accept() error {
	for {
		conn, err := s.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil { // too many files are open
			s.cfg.Log.Warn("cannot take an agent's connection, trying again", "err", err)
			<-time.After(restAfter)
			continue
		}
		u, isUnix := conn.(*net.UnixConn)
		if !isUnix {
			return fmt.Errorf("%s is no socket of this machine", s.listener.Addr())
		}
		if err := checkPeer(u); err != nil {
			s.cfg.Log.Warn("a connection is refused", "err", err)
			_ = u.Close()
			continue
		}
		s.addPeer(u)
	}
}

// peer is an agent that is connected.
type peer struct {
	conn *net.UnixConn

	mu     sync.Mutex // guards out
	out    [][]byte
	wakeUp chan struct{}
}

func (s *server) addPeer(conn *net.UnixConn) {
	p := &peer{conn: conn, wakeUp: make(chan struct{}, 1)}
	// Under the lock of the tasks: what begins or ends from here on is told after the greeting.
	s.children.each(func(tasks []string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.conns[p] = true
		p.say(hello{pid: os.Getpid(), tasks: tasks}.encode())
	})
	go p.speak()
	go s.listen(p)
}

// say queues a message: an agent that is stopped holds up no one.
func (p *peer) say(message []byte) {
	p.mu.Lock()
	p.out = append(p.out, message)
	p.mu.Unlock()
	select {
	case p.wakeUp <- struct{}{}:
	default:
	}
}

// speak writes until the connection is closed.
func (p *peer) speak() {
	for range p.wakeUp {
		p.mu.Lock()
		out := p.out
		p.out = nil
		p.mu.Unlock()
		if len(out) > 0 && send(p.conn, slices.Concat(out...)) != nil {
			return
		}
	}
}

// listen carries out what an agent orders until it has gone, and also what it has
// ordered before.
func (s *server) listen(p *peer) {
	in := packets{conn: p.conn}
	for {
		kind, body, err := in.next()
		if err != nil || kind != kindStart {
			break
		}
		number, order := body.order()
		fds, err := in.files()
		if err == nil {
			err = body.err()
		}
		if err != nil {
			s.cfg.Log.Warn("an order cannot be read", "err", err)
			break
		}
		s.begin()
		go s.carryOut(p, number, order, fds)
	}
	in.close()
	s.mu.Lock()
	delete(s.conns, p)
	s.mu.Unlock()
	close(p.wakeUp)
	s.leaveIfIdle()
}

func (s *server) begin() {
	s.places <- struct{}{}
	s.rest.Stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.orders++
	if !s.busy {
		s.busy = true
		debug.SetGCPercent(busyHeap)
	}
}

// carryOut starts a task, which is told to all.
func (s *server) carryOut(p *peer, number uint64, o Order, fds [filesEach]int) {
	answer := started{number: number, task: o.Task}
	answer.err = s.children.start(o, fds, func(at Started) {
		answer.Started = at
		s.answer(p, answer.encode())
		answer.number = 0
		s.tell(answer.encode(), p)
	})
	if answer.err != nil {
		s.answer(p, answer.encode())
		s.rest.Reset(restAfter) // there may be no task that ends
	}
	s.mu.Lock()
	s.orders--
	s.mu.Unlock()
	<-s.places
	s.leaveIfIdle()
}

func (s *server) answer(p *peer, message []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conns[p] {
		p.say(message)
	}
}

// tell says something to all agents but one.
func (s *server) tell(message []byte, not *peer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for p := range s.conns {
		if p != not {
			p.say(message)
		}
	}
}

func (s *server) tellEnd(task string) { s.tell(encodeEnded(task), nil) }

// becomeIdle is after the last task.
func (s *server) becomeIdle() {
	s.rest.Reset(restAfter)
	s.leaveIfIdle()
}

// leaveIfIdle leaves when there is nothing to do. An agent that connects at this moment finds
// the connection closed before a greeting, and starts another shim.
func (s *server) leaveIfIdle() {
	// Under both locks: an order that was carried out is a task before it is no order.
	s.children.each(func(tasks []string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(tasks) > 0 || s.leaving || len(s.conns) > 0 || s.orders > 0 {
			return
		}
		s.leaving = true
		_ = os.Remove(s.cfg.Path) // an agent removes what does not answer
		_ = s.listener.Close()
		close(s.left)
	})
}
