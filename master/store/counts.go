package store

import "sync/atomic"

// Counts holds the numbers of operations since the store was opened, without those for the lease.
type Counts struct {
	// Writes counts the calls of Write that changed something, including those that were rolled
	// back, and Statements their statements. Commits counts the transactions, each for several
	// writes, and the renewals of the lease.
	Writes, Statements, Commits int64
}

type counts struct{ writes, statements, commits atomic.Int64 }

// Counts returns the current counts.
func (s *Store) Counts() Counts {
	return Counts{s.counts.writes.Load(), s.counts.statements.Load(), s.counts.commits.Load()}
}
