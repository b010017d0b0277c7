// Package database opens the SQLite file or the PostgreSQL database that holds a store.
// All in which the two differ is in it: how they begin, lock, create, break and are full.
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

// Database is an open database, with all in which the two differ. Everything else is
// one text.
type Database struct {
	// Write is the one connection that writes, nil when read-only. Read are some that
	// read and are never behind it.
	Write, Read *sql.DB

	Name     string
	Goose    goose.Dialect
	Begin    string // starts a transaction that will write
	Snapshot string // starts a transaction that reads one moment
	Now      string // microseconds by the database's clock
	HasTable string // selects the number of tables called ?
	// Compiles says that a connection compiles a query each time, unless a statement is kept of it.
	Compiles bool
	// Timed says that a lease ends by time. A file's lock ends with its process.
	Timed bool
	// Unavailable says that an error is the connection's, not the statement's.
	Unavailable func(error) bool
	// Full says that an error is the disk's: it has no room.
	Full func(error) bool

	numbered bool // placeholders are $1, $2 rather than ?
	// damaged names the file when err says that it is damaged; nil otherwise. It is
	// nil where a server looks after its own files.
	damaged func(err error) error
	path    string // of the file that may be written; empty otherwise
	lock    *lockFile
}

// RewriteQuery rewrites a statement that is written with ? for this database. A question
// mark never occurs in our statements otherwise.
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

// ClassifyError gives a driver's error its kind.
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

// Close closes the connections and gives up the lock of a file.
func (d *Database) Close() error {
	var errs []error
	for _, db := range []*sql.DB{d.Write, d.Read} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(append(errs, d.lock.releaseLock())...)
}

// readConnections bounds the read pool: enough for two cores' worth of requests
// that wait for a disk, few enough for a shared PostgreSQL.
const readConnections = 8

// readIdle is how long a connection that reads is kept for the next: opening one costs as much as
// some hundred reads.
const readIdle = 10 * time.Second

func (d *Database) limitReads() {
	d.Read.SetMaxOpenConns(readConnections)
	d.Read.SetMaxIdleConns(readConnections)
	d.Read.SetConnMaxIdleTime(readIdle)
}
