package store

import (
	"errors"
	"fmt"

	"github.com/det-deploy/det-deploy/master/store/database"
)

var (
	// ErrClosed is returned after Close. The write was not done.
	ErrClosed = errors.New("the store is closed")
	// ErrReadOnly is returned by writes to a store that was opened read-only.
	ErrReadOnly = errors.New("the store is opened read-only")
	// ErrNoLease is returned by writes before Acquire. The write was not done.
	ErrNoLease = errors.New("the store is not leased; acquire the lease before writing")
	// ErrFenced is returned once another master has taken the lease. Nothing was
	// written and nothing will be: this process must stop.
	ErrFenced = errors.New("another master has taken over this store; this one must stop")
	// ErrNewerSchema is what a SchemaError is: the store was written by a newer program.
	ErrNewerSchema = errors.New("the store is newer than this program")
	// ErrUnavailable is returned while the database cannot be reached. A write was
	// not done and may be repeated; the store recovers by itself.
	ErrUnavailable = database.ErrUnavailable
	// ErrFull is returned by writes while the disk of the database is full. The write
	// was not done and may be repeated; reads go on.
	ErrFull = database.ErrFull
	// ErrOutcomeUnknown is returned when the database vanished during a commit and
	// stayed away: the write may or may not be durable. Read it back before
	// repeating it.
	ErrOutcomeUnknown = errors.New("the database vanished during a commit; read back before repeating the write")
)

// SchemaError names both versions.
type SchemaError struct {
	Have int64 // what the store is
	Know int64 // the newest this program knows
}

func (e *SchemaError) Error() string {
	return fmt.Sprintf("%v: its schema is version %d and this program knows up to %d; "+
		"run the version of det-deploy that wrote it or a newer one, or restore a backup made before the upgrade",
		ErrNewerSchema, e.Have, e.Know)
}

// Is makes every SchemaError an ErrNewerSchema.
func (e *SchemaError) Is(target error) bool { return target == ErrNewerSchema }
