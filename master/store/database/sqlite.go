package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"syscall"
	"time"

	"github.com/pressly/goose/v3"
	"modernc.org/sqlite" // with the driver "sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

func newSQLite(path string) *Database {
	return &Database{
		Name:  "sqlite",
		Goose: goose.DialectSQLite3,
		// Take the write lock immediately and wait for it, instead of failing later with
		// SQLITE_BUSY.
		Begin:       "BEGIN IMMEDIATE",
		Snapshot:    "BEGIN",
		Now:         "CAST(unixepoch('subsec') * 1000000 AS INTEGER)",
		HasTable:    "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = ?",
		Compiles:    true,
		Unavailable: func(error) bool { return false },
		Full:        sqliteFull,
		damaged:     func(err error) error { return sqliteDamage(path, err) },
	}
}

// sqliteFull reports whether SQLite found no disk space for the file or its journal.
func sqliteFull(err error) bool {
	if e, ok := errors.AsType[*sqlite.Error](err); ok && e.Code()&0xff == sqlite3.SQLITE_FULL {
		return true
	}
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// sqliteDamage returns a CorruptError if SQLite reports that the file is not a database or that its
// pages are inconsistent, and nil otherwise.
func sqliteDamage(path string, err error) error {
	se, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return nil
	}
	switch se.Code() & 0xff {
	case sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT:
		return &CorruptError{Path: path, Err: err}
	}
	return nil
}

// OpenSQLite opens a file. Unless it is read-only, the file is locked, and created if it is missing.
// It returns a HeldError if another process has locked the file, and a CorruptError if the file has
// lost its content.
func OpenSQLite(path string, readOnly bool) (*Database, error) {
	d := newSQLite(path)
	var err error
	if readOnly {
		err = refuseEmpty(path)
	} else {
		d.path = path
		err = d.prepareFile()
	}
	if err == nil {
		err = d.openFile(path)
	}
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// OpenToCopy opens a file for CopyTo. The connection is writable, because VACUUM INTO fails on a
// read-only one; it must be used only for the copy.
func OpenToCopy(path string) (*Database, error) {
	d := newSQLite(path)
	var err error
	if d.Read, err = sql.Open("sqlite", sqliteDSN(path)); err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	return d, nil
}

// CopyTo copies the database into a new file. It uses SQLite instead of a file copy, because recent
// data may still be in the write-ahead log.
func (d *Database) CopyTo(ctx context.Context, path string) error {
	if err := createPrivate(path); err != nil {
		return err
	}
	if _, err := d.Read.ExecContext(ctx, "VACUUM INTO ?", path); err != nil {
		return fmt.Errorf("copy the store: %w", err)
	}
	return nil
}

// openFile opens the connections. WAL allows reads during writes. synchronous=FULL syncs the WAL at
// every commit, so that a commit survives a power failure as well as a killed process. Savepoint
// journals are kept in memory (temp_store=2), so that a full temporary directory does not cause
// errors. The WAL is checkpointed after 4,000 pages, about the number of pages in the index of one
// table: most commits change the same pages, which are then written to the file only once. After a
// kill, the next start reads a WAL of 16 MB, which takes 15 ms.
func (d *Database) openFile(path string) (err error) {
	if d.path != "" {
		if d.Write, err = sql.Open("sqlite", sqliteDSN(path,
			"journal_mode(WAL)", "synchronous(FULL)", "fullfsync(1)", "wal_autocheckpoint(4000)", "temp_store(2)", "journal_size_limit(67108864)")); err != nil {
			return fmt.Errorf("open %s: %w", path, err)
		}
		d.Write.SetMaxOpenConns(1)
	}
	if d.Read, err = sql.Open("sqlite", sqliteDSN(path, "query_only(1)")); err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	d.limitReads()
	return nil
}

// busyTimeout is the time to wait for a lock. Only a backup from another process ever holds one.
const busyTimeout = 5 * time.Second

// sqliteDSN escapes the path, so that "?" and "%" in it are preserved.
func sqliteDSN(path string, pragmas ...string) string {
	q := url.Values{"_pragma": append([]string{fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds())}, pragmas...)}
	return (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: q.Encode()}).String()
}
