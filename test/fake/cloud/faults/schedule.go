package faults

import (
	"math/rand/v2"
	"time"
)

// Schedule holds the scheduled faults, and the journal of attempts. It counts calls and not
// attempts. It is not safe for concurrent use: its owner must hold a lock.
type Schedule struct {
	// Calls is the number of calls, Changes the number of modifying calls.
	Calls, Changes int
	// Dead reports whether the process was killed.
	Dead bool
	// Storm returns the fault of an attempt of a call, counted from 1, instead of the scheduled ones. It
	// may be nil.
	Storm func(attempt int) Fault
	// Journal holds all attempts that reached the cloud, in order.
	Journal []Entry

	atCall   map[int]Fault
	atChange map[int]Fault
	byOp     map[string][]Fault
}

// Entry is one attempt of a call.
type Entry struct {
	Op      string
	Changes bool
	// Code is the error code of the response, or "" on success.
	Code string
	// At is the time of the response.
	At time.Time
}

// Next counts a call and returns its fault, if any.
func (s *Schedule) Next(op string, changes bool) Fault {
	s.Calls++
	if fault, ok := s.atCall[s.Calls]; ok {
		return fault
	}
	if changes {
		s.Changes++
		if fault, ok := s.atChange[s.Changes]; ok {
			return fault
		}
	}
	if queue := s.byOp[op]; len(queue) > 0 {
		s.byOp[op] = queue[1:]
		return queue[0]
	}
	return ""
}

// The attempts of a call from which on a storm loses no replies, and ends. A client that follows the
// advice of the platforms succeeds by then, in any order of the calls.
const (
	lastLoss  = 4
	lastFault = 9
)

// NewStorm returns a function for Schedule.Storm that throttles some attempts and loses the replies of
// others, each with its probability.
func NewStorm(seed uint64, throttled, lost float64) func(attempt int) Fault {
	random := rand.New(rand.NewPCG(seed, 0))
	return func(attempt int) Fault {
		switch p := random.Float64(); {
		case attempt > lastFault:
			return ""
		case p < throttled:
			return Throttle
		case p < throttled+lost && attempt <= lastLoss:
			return LoseReply
		}
		return ""
	}
}

// FailAt injects a fault into the n-th call from the start, counted from 1.
func (s *Schedule) FailAt(n int, f Fault) {
	if s.atCall == nil {
		s.atCall = make(map[int]Fault)
	}
	s.atCall[n] = f
}

// FailChange injects a fault into the n-th modifying call from the start, counted from 1.
func (s *Schedule) FailChange(n int, f Fault) {
	if s.atChange == nil {
		s.atChange = make(map[int]Fault)
	}
	s.atChange[n] = f
}

// FailOp injects faults into the next calls of an operation, one per call. The fault "" lets a call
// succeed.
func (s *Schedule) FailOp(op string, fs ...Fault) {
	if s.byOp == nil {
		s.byOp = make(map[string][]Fault)
	}
	s.byOp[op] = append(s.byOp[op], fs...)
}

// Revive simulates a new process, without faults.
func (s *Schedule) Revive() {
	s.Dead, s.atCall, s.atChange, s.byOp = false, nil, nil, nil
}
