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
		// Taking the write lock at once turns a late SQLITE_BUSY into a wait.
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

// sqliteFull says whether SQLite found no room, in the file or for its journal.
func sqliteFull(err error) bool {
	if e, ok := errors.AsType[*sqlite.Error](err); ok && e.Code()&0xff == sqlite3.SQLITE_FULL {
		return true
	}
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// sqliteDamage is a CorruptError when SQLite says that its file is none, or that
// its pages contradict each other.
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

// OpenSQLite opens a file, and locks it and creates it where there is none unless it is
// read-only.
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

// OpenToCopy opens a file for CopyTo. The connection may write, for SQLite refuses to
// copy over one that may not; the copy is all it is used for.
func OpenToCopy(path string) (*Database, error) {
	d := newSQLite(path)
	var err error
	if d.Read, err = sql.Open("sqlite", sqliteDSN(path)); err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	return d, nil
}

// CopyTo lets SQLite copy into a new file, because the newest of the data may stand in
// the write-ahead log beside the file.
func (d *Database) CopyTo(ctx context.Context, path string) error {
	if err := createPrivate(path); err != nil {
		return err
	}
	if _, err := d.Read.ExecContext(ctx, "VACUUM INTO ?", path); err != nil {
		return fmt.Errorf("copy the store: %w", err)
	}
	return nil
}

// openFile connects to the file. WAL lets reads go on beside the writer; FULL syncs
// the WAL at every commit, so that "done" survives a power cut and not only a
// killed process. What savepoints go back to is in memory: a full directory of temporary files is no full store. The WAL goes into the file after 4,000 pages, as many as one table of its index has:
// most commits change the same pages, which are written into the file once. A master that was
// killed reads 16 MB again, which takes 15 ms.
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

// busyTimeout is how long a lock is waited for: only a backup from a second process ever holds one.
const busyTimeout = 5 * time.Second

// sqliteDSN escapes the path, so that a "?" or "%" in it stays a part of it.
func sqliteDSN(path string, pragmas ...string) string {
	q := url.Values{"_pragma": append([]string{fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds())}, pragmas...)}
	return (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: q.Encode()}).String()
}
