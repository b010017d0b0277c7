package faults

import (
	"slices"
	"sync"
)

// Guarded is a Schedule with a lock of its own, for a cloud to embed. It is safe for
// concurrent use, and its zero value is ready.
type Guarded struct {
	mu       sync.Mutex // guards schedule
	schedule Schedule
}

// FailAt has the n-th call from the start, counted from 1, fail.
func (g *Guarded) FailAt(n int, f Fault) { g.with(func(s *Schedule) { s.FailAt(n, f) }) }

// FailChange has the n-th changing call from the start, counted from 1, fail.
func (g *Guarded) FailChange(n int, f Fault) { g.with(func(s *Schedule) { s.FailChange(n, f) }) }

// FailOp has the next calls of an operation fail, one for each fault; "" lets one pass.
func (g *Guarded) FailOp(op string, fs ...Fault) { g.with(func(s *Schedule) { s.FailOp(op, fs...) }) }

// Revive lets a new process make calls, without faults.
func (g *Guarded) Revive() { g.with((*Schedule).Revive) }

// Kill ends the process: every later call fails, until Revive.
func (g *Guarded) Kill() { g.with(func(s *Schedule) { s.Dead = true }) }

// Dead is true once the process was killed.
func (g *Guarded) Dead() (dead bool) {
	g.with(func(s *Schedule) { dead = s.Dead })
	return dead
}

// Next counts a call and says how it fails.
func (g *Guarded) Next(op string, changes bool) (f Fault) {
	g.with(func(s *Schedule) { f = s.Next(op, changes) })
	return f
}

// Record adds an attempt to the journal.
func (g *Guarded) Record(e Entry) { g.with(func(s *Schedule) { s.Journal = append(s.Journal, e) }) }

// Journal is every attempt that reached the cloud, in order.
func (g *Guarded) Journal() (out []Entry) {
	g.with(func(s *Schedule) { out = slices.Clone(s.Journal) })
	return out
}

// Calls is how many calls were made, retries not counted.
func (g *Guarded) Calls() (n int) {
	g.with(func(s *Schedule) { n = s.Calls })
	return n
}

// Changes is how many of them were to change something.
func (g *Guarded) Changes() (n int) {
	g.with(func(s *Schedule) { n = s.Changes })
	return n
}

func (g *Guarded) with(f func(*Schedule)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	f(&g.schedule)
}
