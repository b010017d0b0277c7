package supervise

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// proc is the supervisor's state of one unit.
//
//	absent ──start──▶ running ──dies──▶ absent, held back ──start──▶ …
//	                     │
//	                     └─dropped, or another generation──▶ stopping ──▶ absent
type proc struct {
	unit     Unit
	id       Identity
	started  Unit          // the unit as of the process's start
	done     chan struct{} // closed when a child has ended; nil for an adopted process
	since    time.Time
	stopping time.Time // when it was asked to stop, or zero
	killed   bool
	dropped  bool
	due      time.Time // earliest time of the next start
	pause    time.Duration
	restarts int
	exit     string
	// untold is set while the state is not stored.
	untold bool
}

// move is the next action for a process.
type move int

const (
	rest move = iota
	start
	stop
	kill
)

func (p *proc) wantUnit(u Unit) {
	p.dropped = false
	if u.Generation != p.unit.Generation {
		p.pause, p.due = 0, time.Time{} // start a changed unit at once
	}
	p.unit = u
}

func (p *proc) isRunning() bool {
	if p.id.PID == 0 {
		return false
	}
	if p.done == nil {
		return p.id.Alive()
	}
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// nextMove decides the next action. It only updates the state of stopping.
func (p *proc) nextMove(now time.Time) move {
	running := p.isRunning()
	outdated := p.dropped || p.started.Generation != p.unit.Generation
	switch {
	case !running && p.dropped:
		return rest
	case !running && now.Before(p.due):
		return rest
	case !running:
		return start
	case !outdated && p.stopping.IsZero():
		return rest
	case p.stopping.IsZero():
		return stop
	case now.Sub(p.stopping) > grace && !p.killed:
		p.killed = true
		return kill
	}
	return rest
}

// adoptProcess takes over a process of an earlier supervisor. If its status cannot be read, it
// returns an error, because the process may be running and must not be started twice.
func (s *supervisor) adoptProcess(u Unit) (*proc, error) {
	p := &proc{unit: u}
	old, found, err := s.Dir.Status(u.Name)
	if _, damaged := errors.AsType[*json.SyntaxError](err); err != nil && !damaged {
		return nil, err
	}
	if err == nil && found && old.Alive() {
		s.Log.Info("adopted a running process", "unit", u.Name, "pid", old.PID)
		p.id, p.since, p.restarts = old.Identity, old.Since, old.Restarts
		p.started = Unit{Name: u.Name, Generation: old.Generation}
	}
	return p, nil
}

func (s *supervisor) startProcess(p *proc, now time.Time) error {
	if p.id.PID != 0 && p.stopping.IsZero() { // it died by itself
		p.restarts++
		p.holdBack(now)
		p.id = Identity{}
		if now.Before(p.due) {
			return nil
		}
	}
	lock, running, err := s.Dir.lockUnit(p.unit.Name)
	if err == nil && lock == nil {
		s.adoptHolder(p, running, now)
		return nil
	}
	if err != nil {
		p.holdBack(now)
		return fmt.Errorf("lock %s: %w", p.unit.Name, err)
	}
	defer func() { _ = lock.Close() }() // the child has inherited the lock
	c, err := s.spawnUnit(p.unit, lock)
	if err != nil {
		p.holdBack(now)
		return fmt.Errorf("start %s: %w", p.unit.Name, err)
	}
	p.done, p.since, p.started = make(chan struct{}), now, p.unit
	p.stopping, p.killed = time.Time{}, false
	p.id, err = Identify(c.Process.Pid)
	if err != nil {
		p.id = Identity{PID: c.Process.Pid} // ended at once: awaitEnd reports how
	}
	go s.awaitEnd(c, p)
	s.Log.Info("started", "unit", p.unit.Name, "pid", p.id.PID, "restarts", p.restarts)
	s.writeStatus(p)
	return nil
}

// spawnUnit starts the process of a unit, which inherits its lock.
func (s *supervisor) spawnUnit(u Unit, lock *os.File) (*exec.Cmd, error) {
	log, err := os.OpenFile(u.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }() // the child has its own descriptor
	args := append([]string{"-c", bootScript, s.Dir.pidFile(u.Name), cmp.Or(u.Program, s.Program)}, u.Args...)
	c := exec.Command("/bin/sh", args...) //nolint:noctx // outlives every context; it is stopped by signal
	c.Env = Environ()
	c.Stdout, c.Stderr, c.ExtraFiles = log, log, []*os.File{lock}
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return c, c.Start()
}

// adoptHolder takes over a process that an earlier supervisor started and did not store. Its
// settings are unknown, so that it is replaced.
func (s *supervisor) adoptHolder(p *proc, id Identity, now time.Time) {
	s.Log.Info("adopted a running process that was not stored", "unit", p.unit.Name, "pid", id.PID)
	p.id, p.since, p.done, p.started = id, now, nil, Unit{Name: p.unit.Name}
	p.stopping, p.killed = time.Time{}, false
	s.writeStatus(p)
}

// awaitEnd runs in a goroutine per child and returns when the child ends.
func (s *supervisor) awaitEnd(c *exec.Cmd, p *proc) {
	name, done := p.started.Name, p.done
	err := c.Wait()
	how := "ended"
	if err != nil {
		how = err.Error()
	}
	p.exit = how // read after done is closed
	close(done)
	select {
	case s.ended <- name:
	default: // the loop is already being woken
	}
}

// noteEnd stores how a process ended.
func (s *supervisor) noteEnd(name string) {
	p := s.procs[name]
	if p == nil || p.isRunning() {
		return
	}
	s.Log.Info("ended", "unit", name, "pid", p.id.PID, "exit", p.exit)
	s.writeStatus(p)
}

// writeStatus stores the state of a process. If that fails, every turn tries again, because the
// next supervisor knows only the stored state.
func (s *supervisor) writeStatus(p *proc) {
	st := Status{Identity: p.id, Generation: p.started.Generation, Since: p.since, Restarts: p.restarts}
	if !p.isRunning() {
		st.Exit = p.exit
	}
	err := writeJSON(s.Dir.statusFile(p.unit.Name), st)
	if err != nil && !p.untold { // once, to avoid a line per turn while the disk is full
		s.logError(p.unit.Name, fmt.Errorf("store the status of the unit, to be retried: %w", err))
	}
	p.untold = err != nil
}

// holdBack delays the next start, longer each time the process dies young.
func (p *proc) holdBack(now time.Time) {
	switch {
	case !p.since.IsZero() && now.Sub(p.since) >= steady, p.pause == 0:
		p.pause = firstPause
	default:
		p.pause = min(2*p.pause, longestPause)
	}
	p.due = now.Add(p.pause)
}
