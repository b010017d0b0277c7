package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/pressly/goose/v3"
)

// dialect is all in which the two databases differ. Everything else is one text.
type dialect struct {
	name     string
	goose    goose.Dialect
	begin    string // starts a transaction that will write
	snapshot string // starts a transaction that reads one moment
	now      string // microseconds by the database's clock
	hasTable string // selects the number of tables called ?
	numbered bool   // placeholders are $1, $2 rather than ?
	// timed says that a lease ends by time. A file's lock ends with its process.
	timed bool
	// unavailable says that an error is the connection's, not the statement's.
	unavailable func(error) bool
	// damaged names the file when err says that it is damaged; nil otherwise. It is
	// nil where a server looks after its own files.
	damaged func(err error) error
	// full says that an error is the disk's: it has no room.
	full func(error) bool
}

// rewriteQuery rewrites a statement that is written with ? for this database. A question
// mark never occurs in our statements otherwise.
func (d *dialect) rewriteQuery(query string) string {
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

// classifyError gives a driver's error its kind.
func (d *dialect) classifyError(ctx context.Context, err error) error {
	switch {
	case err == nil || errors.Is(err, ErrUnavailable) || errors.Is(err, ErrCorrupt) || errors.Is(err, ErrFull):
		return err
	case ctx.Err() != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded):
		return ctx.Err()
	case d.full(err):
		return fmt.Errorf("%w: %w", ErrFull, err)
	case d.unavailable(err):
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if d.damaged != nil {
		if damage := d.damaged(err); damage != nil {
			return damage
		}
	}
	return err
}

// pools are the two ways into one database: one connection that writes, and some
// that read and are never behind it.
type pools struct {
	write, read *sql.DB
}

func (p pools) closePools() error {
	var errs []error
	for _, db := range []*sql.DB{p.write, p.read} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}

// readConnections bounds the read pool: enough for two cores' worth of requests
// that wait for a disk, few enough for a shared PostgreSQL.
const readConnections = 8
