// Package database opens the SQLite file or the PostgreSQL database of a store. It hides the
// differences between the two: transactions, locks, and errors for damage, lost connections and full
// disks.
package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/pressly/goose/v3"
)

// Database is an open database with its specific statements and error handling. All other statements
// are the same for both databases.
type Database struct {
	// Write is the only connection that writes; it is nil if read-only. Read is a pool of
	// connections that read and are not blocked by Write.
	Write, Read *sql.DB

	Name     string
	Goose    goose.Dialect
	Begin    string // starts a write transaction
	Snapshot string // starts a transaction that reads a snapshot
	Now      string // the current time of the database in microseconds
	HasTable string // selects the number of tables with the name ?
	// Compiles reports whether the database compiles a query on every execution unless it is
	// prepared.
	Compiles bool
	// Timed reports whether a lease expires by time. The lock of a file ends with its process.
	Timed bool
	// Unavailable reports whether the connection and not the statement caused an error.
	Unavailable func(error) bool
	// Full reports whether a full disk caused an error.
	Full func(error) bool

	numbered bool // placeholders are $1, $2 instead of ?
	// damaged returns an error that names the file if err reports damage, and nil otherwise. It is
	// nil for a database server.
	damaged func(err error) error
	path    string // of a writable file; otherwise empty
	lock    *lockFile
}

// RewriteQuery converts the placeholders ? of a statement to the syntax of the database. Statements
// must not contain other question marks.
func (d *Database) RewriteQuery(query string) string {
	if !d.numbered {
		return query
	}
	var b strings.Builder
	n := 0
	for part := range strings.SplitSeq(query, "?") {
		if n > 0 {
			b.WriteString("$" + strconv.Itoa(n))
		}
		b.WriteString(part)
		n++
	}
	return b.String()
}

// ClassifyError wraps a driver's error in ErrFull, ErrUnavailable or ErrCorrupt if one applies.
func (d *Database) ClassifyError(ctx context.Context, err error) error {
	switch {
	case err == nil || errors.Is(err, ErrUnavailable) || errors.Is(err, ErrCorrupt) || errors.Is(err, ErrFull):
		return err
	case ctx.Err() != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded):
		return ctx.Err()
	case d.Full(err):
		return fmt.Errorf("%w: %w", ErrFull, err)
	case d.Unavailable(err):
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if d.damaged != nil {
		if damage := d.damaged(err); damage != nil {
			return damage
		}
	}
	return err
}

// Close closes the connections and releases the lock of a file.
func (d *Database) Close() error {
	var errs []error
	for _, db := range []*sql.DB{d.Write, d.Read} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(append(errs, d.lock.releaseLock())...)
}

// readConnections limits the read pool: enough for requests that wait for the disk on two cores, few
// enough for a shared PostgreSQL server.
const readConnections = 8

// readIdle is the time for which an idle read connection is kept, because opening one costs as much
// as some hundred reads.
const readIdle = 10 * time.Second

func (d *Database) limitReads() {
	d.Read.SetMaxOpenConns(readConnections)
	d.Read.SetMaxIdleConns(readConnections)
	d.Read.SetConnMaxIdleTime(readIdle)
}
