package database

import (
	"errors"
	"fmt"
	"time"
)

var (
	// ErrHeld is what a HeldError is: another master is alive on this store.
	ErrHeld = errors.New("the store is in use")
	// ErrCorrupt is what a CorruptError is: the store's file cannot be read.
	ErrCorrupt = errors.New("the store's file is damaged")
	// ErrUnavailable is returned while the database cannot be reached. A write was
	// not done and may be repeated; the store recovers by itself.
	ErrUnavailable = errors.New("the database does not answer; the store tries again with the next call")
	// ErrFull is returned by writes while the disk of the database is full. The write
	// was not done and may be repeated; reads go on.
	ErrFull = errors.New("the disk of the database is full and nothing was changed; free space on it, or enlarge it")
)

// HeldError names the master that uses the store.
type HeldError struct {
	Store string    // the path, or "postgresql"
	Owner string    // what the holder called itself
	Host  string    // where it runs
	PID   int       // its process, 0 when unknown
	Until time.Time // when its lease ends unless renewed, zero when the system lock ends with the process
}

func (e *HeldError) Error() string {
	who := e.Owner
	if e.PID != 0 {
		who = fmt.Sprintf("%s (process %d)", e.Owner, e.PID)
	}
	if who == "" {
		who = "an unknown process"
	}
	msg := fmt.Sprintf("%v: %s is held by %s on host %q", ErrHeld, e.Store, who, e.Host)
	if e.Until.IsZero() {
		return msg + "; stop that master first"
	}
	return fmt.Sprintf("%s until %s; stop that master, or wait for its lease to end", msg, e.Until.UTC().Format(time.RFC3339))
}

// Is makes every HeldError an ErrHeld.
func (e *HeldError) Is(target error) bool { return target == ErrHeld }

// CorruptError names the file of a store that cannot be read.
type CorruptError struct {
	Path string
	Err  error
}

func (e *CorruptError) Error() string { return fmt.Sprintf("%v: %s: %v", ErrCorrupt, e.Path, e.Err) }

// Hint is how to go on: with the last backup, or with a new cluster.
func (e *CorruptError) Hint() string {
	return "move the file (and its -wal and -shm) away, and run det-deploy master restore with the last backup; " +
		"without one, the next start makes a new, empty cluster"
}

// Is makes every CorruptError an ErrCorrupt.
func (e *CorruptError) Is(target error) bool { return target == ErrCorrupt }

// Unwrap is the database's own error.
func (e *CorruptError) Unwrap() error { return e.Err }
