package store

import "sync/atomic"

// Counts is what a store has done since it was opened, without what its lease needs.
type Counts struct {
	// Writes are the calls of Write that changed something, also those that were undone, and Statements
	// what they did that with. Commits are the transactions that made them durable, several at a time, and
	// those that renewed the lease.
	Writes, Statements, Commits int64
}

type counts struct{ writes, statements, commits atomic.Int64 }

// Counts says what the store has done so far.
func (s *Store) Counts() Counts {
	return Counts{s.counts.writes.Load(), s.counts.statements.Load(), s.counts.commits.Load()}
}
