package supervise

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/gofrs/flock"
)

// ErrRunning reports that another supervisor runs for the directory.
var ErrRunning = errors.New("a supervisor is running already")

// The limits of the supervisor.
const (
	// glance is the polling interval, in addition to signals: a lost signal delays an action by a
	// second.
	glance = time.Second
	// grace is how long a process may take to stop: a master flushes its state, an agent informs
	// its containers.
	grace = 20 * time.Second
	// steady is how long a process must have run so that its next start is not delayed.
	steady = 10 * time.Second
	// firstPause and longestPause limit the delay before a process that died is restarted; the
	// delay doubles each time.
	firstPause   = 200 * time.Millisecond
	longestPause = 30 * time.Second
)

// Config configures a supervisor.
type Config struct {
	Dir Dir
	// Program is the default program of units.
	Program string
	Log     *slog.Logger
}

// Run supervises until ctx is cancelled, then stops all processes and waits for them. On SIGHUP, it
// reads the units at once.
func Run(ctx context.Context, c Config) error {
	if err := c.Dir.Make(); err != nil {
		return fmt.Errorf("make the supervisor's directory: %w", err)
	}
	// Handle SIGHUP before the lock is visible, because a process that finds this supervisor may
	// signal it at once.
	woken := make(chan os.Signal, 1)
	signal.Notify(woken, syscall.SIGHUP)
	defer signal.Stop(woken)
	lock, err := holdLock(ctx, c.Dir)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }() // releases the lock
	me, err := Identify(os.Getpid())
	if err != nil {
		return err
	}
	if err := writeJSON(c.Dir.selfFile(), Status{Identity: me, Since: time.Now()}); err != nil {
		return fmt.Errorf("store the supervisor's identity: %w", err)
	}
	defer func() { _ = removeFile(c.Dir.selfFile()) }() // the lock is authoritative
	s := &supervisor{Config: c, procs: make(map[string]*proc), ended: make(chan string, 16), unread: make(map[string]bool)}
	return s.superviseLoop(ctx, woken)
}

// Holder returns the living supervisor of d.
func (d Dir) Holder() (Identity, bool) {
	s, found, err := readJSON[Status](d.selfFile())
	if err != nil || !found || !s.Alive() {
		return Identity{}, false
	}
	if _, err := os.Stat(d.lockFile()); err != nil {
		return Identity{}, false
	}
	lock := flock.New(d.lockFile(), flock.SetFlag(os.O_RDONLY))
	defer func() { _ = lock.Close() }() // only read
	if free, err := lock.TryLock(); err == nil && free {
		return Identity{}, false // the file is from a supervisor that ended
	}
	return s.Identity, true
}

// holdLock takes the lock. It retries briefly, because a process that checks the lock holds it for
// a moment.
func holdLock(ctx context.Context, d Dir) (*flock.Flock, error) {
	lock := flock.New(d.lockFile(), flock.SetPermissions(0o600))
	ctx, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
	defer cancel()
	if _, err := lock.TryLockContext(ctx, 10*time.Millisecond); err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			err = ErrRunning
		}
		return nil, errors.Join(fmt.Errorf("lock %s: %w", d, err), lock.Close())
	}
	return lock, nil
}

// supervisor is owned by the goroutine in loop. Each child has another goroutine, which waits for
// it and sends its name on ended.
type supervisor struct {
	Config
	procs map[string]*proc
	ended chan string
	// unread are the units that could not be read at the last turn.
	unread map[string]bool
}

func (s *supervisor) superviseLoop(ctx context.Context, woken <-chan os.Signal) error {
	tick := time.NewTicker(glance)
	defer tick.Stop()
	for {
		s.reconcileUnits(time.Now())
		select {
		case <-ctx.Done():
			return s.stopAll()
		case <-woken:
			s.tellAll()
		case <-tick.C:
		case name := <-s.ended:
			s.noteEnd(name)
		case <-s.nextStart(time.Now()):
		}
	}
}

// reconcileUnits starts and stops processes to match the units, as far as possible now.
func (s *supervisor) reconcileUnits(now time.Time) {
	all, err := listNames(s.Dir.unitsDir(), document)
	if err != nil {
		s.Log.Warn("cannot read the units", "err", err)
		return
	}
	wanted := make(map[string]bool, len(all))
	for _, name := range all {
		u, found, err := s.Dir.Unit(name)
		wanted[name] = found || err != nil // a unit that cannot be read is not stopped
		s.noteDamage(name, err)
		if err != nil || !found {
			continue
		}
		p := s.procs[u.Name]
		if p == nil {
			if p, err = s.adoptProcess(u); err != nil {
				s.logError(u.Name, err)
				continue
			}
			s.procs[u.Name] = p
		}
		p.wantUnit(u)
		s.stepProcess(p, now)
		if p.untold {
			s.writeStatus(p)
		}
	}
	for name, p := range s.procs {
		if wanted[name] {
			continue
		}
		p.dropped = true
		s.stepProcess(p, now)
		if p.isRunning() {
			continue
		}
		if err := s.Dir.Forget(name); err != nil {
			s.logError(name, err)
			continue
		}
		delete(s.procs, name)
	}
}

// noteDamage logs once, rather than at every turn, that a unit cannot be read. Its process
// continues.
func (s *supervisor) noteDamage(unit string, err error) {
	if err != nil && !s.unread[unit] {
		s.logError(unit, err)
	}
	s.unread[unit] = err != nil
}

// tellAll marks the statuses of all running processes to be rewritten, because the process that
// sent the signal may have found a damaged one.
func (s *supervisor) tellAll() {
	for _, p := range s.procs {
		p.untold = p.untold || p.isRunning()
	}
}

// stepProcess performs the next action for one process.
func (s *supervisor) stepProcess(p *proc, now time.Time) {
	switch p.nextMove(now) {
	case rest:
	case start:
		s.logError(p.unit.Name, s.startProcess(p, now))
	case stop:
		s.Log.Info("stopping", "unit", p.unit.Name, "pid", p.id.PID)
		p.stopping = now
		s.logError(p.unit.Name, p.id.Signal(syscall.SIGTERM))
	case kill:
		s.Log.Warn("killing", "unit", p.unit.Name, "pid", p.id.PID)
		s.logError(p.unit.Name, p.id.Signal(syscall.SIGKILL))
	}
}

// nextStart returns a channel that fires when the earliest delayed start is due.
func (s *supervisor) nextStart(now time.Time) <-chan time.Time {
	var first time.Duration = -1
	for _, p := range s.procs {
		if d := p.due.Sub(now); !p.isRunning() && d > 0 && (first < 0 || d < first) {
			first = d
		}
	}
	if first < 0 {
		return nil
	}
	return time.After(first)
}

// stopAll drops every unit in memory and waits for the processes to end. The units stay on disk for
// the next supervisor.
func (s *supervisor) stopAll() error {
	for _, p := range s.procs {
		p.dropped = true
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		left := 0
		for name, p := range s.procs {
			s.stepProcess(p, time.Now())
			if p.isRunning() {
				left++
			} else {
				s.logError(name, s.Dir.Forget(name))
			}
		}
		if left == 0 {
			return nil
		}
		select {
		case name := <-s.ended:
			s.noteEnd(name)
		case <-tick.C:
		}
	}
}

func (s *supervisor) logError(unit string, err error) {
	if err != nil {
		s.Log.Warn("cannot supervise the unit", "unit", unit, "err", err)
	}
}
