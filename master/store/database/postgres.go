package database

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
)

// connectLimit is the default connect timeout: long enough for DNS during a failover, short enough
// for a user who waits for an error.
const connectLimit = 5 * time.Second

// postgresFull reports whether the server has no disk space or memory left.
func postgresFull(err error) bool {
	pe, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (pe.Code == "53100" || pe.Code == "53200") // disk full, out of memory
}

// OpenPostgres opens a PostgreSQL database. The address may contain a password. It returns an error
// if the address is invalid.
func OpenPostgres(address string, readOnly bool) (*Database, error) {
	// The parser's error message redacts the password.
	pc, err := pgx.ParseConfig(address)
	if err != nil {
		return nil, fmt.Errorf("read the database URL: %w", err)
	}
	if pc.ConnectTimeout == 0 {
		pc.ConnectTimeout = connectLimit
	}
	d := &Database{
		Name:        "postgresql",
		Goose:       goose.DialectPostgres,
		Begin:       "BEGIN",
		Snapshot:    "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
		Now:         "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT)",
		HasTable:    "SELECT COUNT(*) FROM pg_catalog.pg_class WHERE oid = to_regclass(?)",
		Timed:       true,
		Unavailable: postgresUnavailable,
		Full:        postgresFull,
		numbered:    true,
	}
	if !readOnly {
		d.Write = stdlib.OpenDB(*pc, stdlib.OptionAfterConnect(insistOnDurability))
		d.Write.SetMaxOpenConns(1)
	}
	d.Read = stdlib.OpenDB(*pc)
	d.Read.SetMaxOpenConns(readConnections)
	d.Read.SetMaxIdleConns(readConnections)
	d.Read.SetConnMaxIdleTime(time.Minute)
	return d, nil
}

// insistOnDurability overrides a server-wide synchronous_commit=off for the session, so that a
// commit is on disk when it returns. Stronger settings are preserved.
func insistOnDurability(ctx context.Context, c *pgx.Conn) error {
	_, err := c.Exec(ctx, "SELECT set_config('synchronous_commit', 'on', false) "+
		"WHERE current_setting('synchronous_commit') = 'off'")
	return err
}

// postgresUnavailable reports whether the server and not the statement caused an error: a broken
// connection, or an error code with which the server rejects or ends connections.
func postgresUnavailable(err error) bool {
	if pe, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch {
		case strings.HasPrefix(pe.Code, "08"), // connection exception
			strings.HasPrefix(pe.Code, "57P"), // shutting down, crashed, starting up
			pe.Code == "53300",                // too many connections
			pe.Code == "25006":                // read-only: a standby before its promotion
			return true
		}
		return false
	}
	for _, broken := range []error{
		driver.ErrBadConn, sql.ErrConnDone, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, context.DeadlineExceeded,
	} {
		if errors.Is(err, broken) {
			return true
		}
	}
	if _, refused := errors.AsType[*pgconn.ConnectError](err); refused {
		return true
	}
	if _, network := errors.AsType[net.Error](err); network {
		return true
	}
	return pgconn.SafeToRetry(err) // the connection is already closed
}
