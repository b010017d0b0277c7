package shim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// ErrLost means that a shim is gone which may have carried out an order.
var ErrLost = errors.New("the process that starts tasks has ended")

// endedError is one that is ErrLost, and says more.
type endedError struct{ error }

func (endedError) Is(target error) bool { return target == ErrLost }

func (e endedError) Unwrap() error { return e.error }

const (
	// helloPatience is how long a new shim may take until it answers, on a machine that is very busy.
	helloPatience = time.Minute
	// foundPatience is how long an agent that starts waits for one that it finds.
	foundPatience = 5 * time.Second
	// idleMost is how long an agent keeps a shim that has no task.
	idleMost = time.Minute
)

// Options say how an agent has its shims.
type Options struct {
	// Dir is the agent's alone. It has the shims' sockets and their log.
	Dir string
	// Command is what this program is called with to be a shim; without one there is none.
	Command []string
	// Log is told of a shim that has ended and should not have; nil tells no one.
	Log *slog.Logger
}

// Shims are those of an agent, as the agent sees them. Make one with Open.
type Shims struct {
	opts Options
	idle time.Duration

	// starting is held while one is started.
	starting sync.Mutex

	mu     sync.Mutex // guards what follows
	closed bool
	// links are connections to shims, and own is the one that tasks are ordered from.
	links map[*link]bool
	own   *link
	// tasks are those of which an end will be told.
	tasks map[string]*running
	// rest ends what is not used.
	rest *time.Timer
}

// running is a task of a shim.
type running struct {
	link  *link
	ended chan struct{}
}

// Open connects to the shims that earlier agents left in a directory.
func Open(o Options) (*Shims, error) {
	s := &Shims{opts: o, idle: idleMost, links: map[*link]bool{}, tasks: map[string]*running{}}
	if len(o.Command) == 0 {
		return s, nil
	}
	if s.opts.Log == nil {
		s.opts.Log = slog.New(slog.DiscardHandler)
	}
	if err := prepareDir(o.Dir); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(o.Dir)
	if err != nil {
		return nil, err
	}
	var all sync.WaitGroup
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), socketSuffix) {
			all.Go(func() { s.find(filepath.Join(o.Dir, e.Name())) })
		}
	}
	all.Wait()
	s.restIfIdle()
	return s, nil
}

// prepareDir makes a directory that is this user's alone.
func prepareDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	var st unix.Stat_t
	if err := unix.Lstat(dir, &st); err != nil {
		return fmt.Errorf("look at %s: %w", dir, err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR || int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("%s is not a directory of this user; remove it", dir)
	}
	return os.Chmod(dir, 0o700)
}

// find connects to one that is there; what does not answer is no shim any more.
func (s *Shims) find(path string) {
	conn, err := dial(path)
	if errors.Is(err, unix.ECONNREFUSED) {
		_ = os.Remove(path) // the next agent tries again
	}
	if err != nil {
		return
	}
	l, err := s.addLink(conn, foundPatience)
	if err != nil {
		s.opts.Log.Warn("a process that starts tasks does not answer; its tasks are waited for all the same", "socket", path, "err", err)
		return
	}
	if l.isThisProgram() {
		s.mu.Lock()
		defer s.mu.Unlock()
		_ = s.orderFrom(l) // otherwise from the next
	}
}

// orderFrom has tasks ordered from a shim, unless that has ended or there is another; the caller
// holds mu.
func (s *Shims) orderFrom(l *link) error {
	if !s.links[l] {
		return ErrLost
	}
	s.own = cmp.Or(s.own, l)
	return nil
}

// Close leaves the shims to their tasks.
func (s *Shims) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for l := range s.links {
		l.close()
	}
	if s.rest != nil {
		s.rest.Stop()
	}
}

// Start has a task started. An error that is ErrLost leaves open whether it was, until its
// lock is free.
func (s *Shims) Start(ctx context.Context, o Order, f Files) (Started, error) {
	l, err := s.ensure(ctx)
	if err != nil {
		return Started{}, err
	}
	return l.order(ctx, o, f)
}

// Ended is closed when a task has ended, or its shim. It is nil for one that no connected
// shim has.
func (s *Shims) Ended(task string) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.tasks[task]; r != nil {
		return r.ended
	}
	return nil
}

// ensure is a shim of this program, which is started if there is none.
func (s *Shims) ensure(ctx context.Context) (*link, error) {
	s.starting.Lock()
	defer s.starting.Unlock()
	s.mu.Lock()
	l, closed := s.own, s.closed
	if l != nil {
		l.orders++ // it stays until these are answered
	}
	s.mu.Unlock()
	switch {
	case l != nil:
		return l, nil
	case closed:
		return nil, errors.New("this agent ends")
	case len(s.opts.Command) == 0:
		return nil, errors.New("this process starts no tasks that are not isolated")
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	fresh, err := s.launch()
	if err != nil {
		return nil, fmt.Errorf("start the process that starts tasks: %w", err)
	}
	if l, err = s.addLink(fresh.conn, helloPatience); err != nil {
		_ = os.Remove(fresh.path) // the next agent would look for it
		said := fmt.Errorf("the process that starts tasks does not begin: %w: %s", err, fresh.log.LastWords(fresh.said))
		if errors.Is(err, io.EOF) || errors.Is(err, unix.ECONNRESET) {
			return nil, endedError{said}
		}
		return nil, said
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l.orders++
	return l, s.orderFrom(l)
}

// restIfIdle leaves shims that are not used: those of other programs at once after their last
// task, and the own after a while.
func (s *Shims) restIfIdle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leaveUnused()
}

// leaveUnused is restIfIdle; the caller holds mu.
func (s *Shims) leaveUnused() {
	for l := range s.links {
		if l != s.own && l.tasks == 0 && l.orders == 0 {
			l.close()
		}
	}
	l := s.own
	if l == nil || l.tasks > 0 || l.orders > 0 || s.closed {
		return
	}
	used := l.used
	if s.rest != nil {
		s.rest.Stop()
	}
	s.rest = time.AfterFunc(s.idle, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.own == l && l.used == used && l.tasks == 0 && l.orders == 0 {
			s.own = nil
			l.close()
		}
	})
}
