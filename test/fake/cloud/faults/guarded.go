package faults

import (
	"slices"
	"sync"
)

// Guarded is a Schedule with a lock, for embedding in a fake cloud. It is safe for concurrent use,
// and its zero value is ready to use.
type Guarded struct {
	mu       sync.Mutex // guards schedule
	schedule Schedule
}

// FailAt injects a fault into the n-th call from the start, counted from 1.
func (g *Guarded) FailAt(n int, f Fault) { g.with(func(s *Schedule) { s.FailAt(n, f) }) }

// FailChange injects a fault into the n-th modifying call from the start, counted from 1.
func (g *Guarded) FailChange(n int, f Fault) { g.with(func(s *Schedule) { s.FailChange(n, f) }) }

// FailOp injects faults into the next calls of an operation, one per call. The fault "" lets a call
// succeed.
func (g *Guarded) FailOp(op string, fs ...Fault) { g.with(func(s *Schedule) { s.FailOp(op, fs...) }) }

// Storm injects random faults into all attempts: throttles, and lost replies.
func (g *Guarded) Storm(seed uint64, throttled, lost float64) {
	g.with(func(s *Schedule) { s.Storm = NewStorm(seed, throttled, lost) })
}

// NextInStorm returns the fault of an attempt, counted from 1, and whether there is a storm.
func (g *Guarded) NextInStorm(attempt int) (f Fault, on bool) {
	g.with(func(s *Schedule) {
		if on = s.Storm != nil; on {
			f = s.Storm(attempt)
		}
	})
	return f, on
}

// Revive simulates a new process, without faults.
func (g *Guarded) Revive() { g.with((*Schedule).Revive) }

// Kill kills the process: all later calls fail until Revive.
func (g *Guarded) Kill() { g.with(func(s *Schedule) { s.Dead = true }) }

// Dead reports whether the process was killed.
func (g *Guarded) Dead() (dead bool) {
	g.with(func(s *Schedule) { dead = s.Dead })
	return dead
}

// Next counts a call and returns its fault, if any.
func (g *Guarded) Next(op string, changes bool) (f Fault) {
	g.with(func(s *Schedule) { f = s.Next(op, changes) })
	return f
}

// Record adds an attempt to the journal.
func (g *Guarded) Record(e Entry) { g.with(func(s *Schedule) { s.Journal = append(s.Journal, e) }) }

// Journal returns all attempts that reached the cloud, in order.
func (g *Guarded) Journal() (out []Entry) {
	g.with(func(s *Schedule) { out = slices.Clone(s.Journal) })
	return out
}

// Calls returns the number of calls, not counting retries.
func (g *Guarded) Calls() (n int) {
	g.with(func(s *Schedule) { n = s.Calls })
	return n
}

// Changes returns the number of modifying calls.
func (g *Guarded) Changes() (n int) {
	g.with(func(s *Schedule) { n = s.Changes })
	return n
}

func (g *Guarded) with(f func(*Schedule)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	f(&g.schedule)
}
