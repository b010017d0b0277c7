package store

import (
	"errors"
	"fmt"

	"github.com/det-deploy/det-deploy/master/store/database"
)

var (
	// ErrClosed is returned after Close. The write was not performed.
	ErrClosed = errors.New("the store is closed")
	// ErrReadOnly is returned by writes to a read-only store.
	ErrReadOnly = errors.New("the store is opened read-only")
	// ErrNoLease is returned by writes before Acquire. The write was not performed.
	ErrNoLease = errors.New("the store is not leased; acquire the lease before writing")
	// ErrFenced is returned after another master has taken the lease. This process cannot write
	// anymore and must stop.
	ErrFenced = errors.New("another master has taken over this store; this one must stop")
	// ErrNewerSchema matches a SchemaError: a newer version has written the store.
	ErrNewerSchema = errors.New("the store is newer than this program")
	// ErrUnavailable is returned while the database is unreachable. The write was not performed and
	// may be repeated; the store reconnects by itself.
	ErrUnavailable = database.ErrUnavailable
	// ErrFull is returned by writes while the disk of the database is full. The write was not
	// performed and may be repeated. Reads still work.
	ErrFull = database.ErrFull
	// ErrOutcomeUnknown is returned if the database became unreachable during a commit and did not
	// return: the write may or may not be durable. Read the data before repeating the write.
	ErrOutcomeUnknown = errors.New("the database became unreachable during a commit; read the data before repeating the write")
)

// SchemaError reports the schema versions.
type SchemaError struct {
	Have int64 // the version of the store
	Know int64 // the newest version that this program supports
}

func (e *SchemaError) Error() string {
	return fmt.Sprintf("%v: its schema is version %d and this program supports up to %d; "+
		"run the version of det-deploy that wrote it or a newer one, or restore a backup made before the upgrade",
		ErrNewerSchema, e.Have, e.Know)
}

// Is reports whether target is ErrNewerSchema.
func (e *SchemaError) Is(target error) bool { return target == ErrNewerSchema }
