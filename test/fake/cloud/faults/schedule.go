package faults

import "time"

// Schedule is which calls fail, and the journal of those that were made. All counts
// are of calls, not of attempts. It is not safe for concurrent use: the cloud that has
// it holds a lock.
type Schedule struct {
	// Calls is how many calls were made, and Changes how many of them were to change
	// something.
	Calls, Changes int
	// Dead is true once the process was killed.
	Dead bool
	// Journal is every attempt that reached the cloud, in order.
	Journal []Entry

	atCall   map[int]Fault
	atChange map[int]Fault
	byOp     map[string][]Fault
}

// Entry is one attempt of a call.
type Entry struct {
	Op      string
	Changes bool
	// Code is what it was refused with, "" when it was not.
	Code string
	// At is when it was answered.
	At time.Time
}

// Next counts a call and says how it fails.
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

// FailAt has the n-th call from the start, counted from 1, fail.
func (s *Schedule) FailAt(n int, f Fault) {
	if s.atCall == nil {
		s.atCall = make(map[int]Fault)
	}
	s.atCall[n] = f
}

// FailChange has the n-th changing call from the start, counted from 1, fail.
func (s *Schedule) FailChange(n int, f Fault) {
	if s.atChange == nil {
		s.atChange = make(map[int]Fault)
	}
	s.atChange[n] = f
}

// FailOp has the next calls of an operation fail, one for each fault; "" lets one pass.
func (s *Schedule) FailOp(op string, fs ...Fault) {
	if s.byOp == nil {
		s.byOp = make(map[string][]Fault)
	}
	s.byOp[op] = append(s.byOp[op], fs...)
}

// Revive lets a new process make calls, without faults.
func (s *Schedule) Revive() {
	s.Dead, s.atCall, s.atChange, s.byOp = false, nil, nil, nil
}
