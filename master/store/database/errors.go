package database

import (
	"errors"
	"fmt"
	"time"
)

var (
	// ErrHeld matches a HeldError: another live master owns the store.
	ErrHeld = errors.New("the store is in use")
	// ErrCorrupt matches a CorruptError: the store's file cannot be read.
	ErrCorrupt = errors.New("the store's file is damaged")
	// ErrUnavailable is returned while the database is unreachable. The write was not performed and
	// may be repeated; the store reconnects by itself.
	ErrUnavailable = errors.New("the database is unreachable; the next call retries")
	// ErrFull is returned by writes while the disk of the database is full. The write was not
	// performed and may be repeated. Reads still work.
	ErrFull = errors.New("the disk of the database is full and nothing was changed; free space on it, or enlarge it")
)

// HeldError reports the master that owns the store.
type HeldError struct {
	Store string    // the path, or "postgresql"
	Owner string    // the name of the owner
	Host  string    // the owner's host
	PID   int       // the owner's process, 0 if unknown
	Until time.Time // the expiry of its lease; zero if a file lock ends with the process
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

// Is reports whether target is ErrHeld.
func (e *HeldError) Is(target error) bool { return target == ErrHeld }

// CorruptError reports the file of a store that cannot be read.
type CorruptError struct {
	Path string
	Err  error
}

func (e *CorruptError) Error() string { return fmt.Sprintf("%v: %s: %v", ErrCorrupt, e.Path, e.Err) }

// Hint returns the steps for a recovery from the last backup, or with a new cluster.
func (e *CorruptError) Hint() string {
	return "move the file (and its -wal and -shm) away, and run det-deploy master restore with the last backup; " +
		"without a backup, the next start creates a new, empty cluster"
}

// Is reports whether target is ErrCorrupt.
func (e *CorruptError) Is(target error) bool { return target == ErrCorrupt }

// Unwrap returns the database's error.
func (e *CorruptError) Unwrap() error { return e.Err }
