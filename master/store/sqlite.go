package store

import (
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"syscall"

	"github.com/pressly/goose/v3"
	"modernc.org/sqlite" // with the driver "sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

func sqliteDialect(path string) *dialect {
	return &dialect{
		name:  "sqlite",
		goose: goose.DialectSQLite3,
		// Taking the write lock at once turns a late SQLITE_BUSY into a wait.
		begin:       "BEGIN IMMEDIATE",
		snapshot:    "BEGIN",
		now:         "CAST(unixepoch('subsec') * 1000000 AS INTEGER)",
		hasTable:    "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = ?",
		unavailable: func(error) bool { return false },
		damaged:     func(err error) error { return sqliteDamage(path, err) },
		full:        sqliteFull,
	}
}

// sqliteFull says whether SQLite found no room, in the file or for its journal.
func sqliteFull(err error) bool {
	if e, said := errors.AsType[*sqlite.Error](err); said && e.Code()&0xff == sqlite3.SQLITE_FULL {
		return true
	}
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// openSQLite opens the file. WAL lets reads go on beside the writer; FULL syncs
// the WAL at every commit, so that "done" survives a power cut and not only a
// killed process.
func openSQLite(cfg Config) (pools, error) {
	if cfg.ReadOnly {
		info, err := os.Stat(cfg.Path)
		if err != nil {
			return pools{}, fmt.Errorf("open store read-only: %w", err)
		}
		if info.Size() == 0 && !fileExists(newMarker(cfg.Path)) {
			return pools{}, &CorruptError{Path: cfg.Path, Err: errEmptyFile}
		}
	}
	var p pools
	var err error
	if !cfg.ReadOnly {
		if p.write, err = sql.Open("sqlite", sqliteDSN(cfg.Path,
			"journal_mode(WAL)", "synchronous(FULL)", "fullfsync(1)", "journal_size_limit(67108864)")); err != nil {
			return pools{}, fmt.Errorf("open %s: %w", cfg.Path, err)
		}
		p.write.SetMaxOpenConns(1)
	}
	if p.read, err = sql.Open("sqlite", sqliteDSN(cfg.Path, "query_only(1)")); err != nil {
		return pools{}, fmt.Errorf("open %s: %w", cfg.Path, err)
	}
	p.read.SetMaxOpenConns(readConnections)
	return p, nil
}

// sqliteDSN escapes the path, so that a "?" or "%" in it stays a part of it.
func sqliteDSN(path string, pragmas ...string) string {
	// Five seconds: only a backup from a second process ever holds a lock we wait for.
	q := url.Values{"_pragma": append([]string{"busy_timeout(5000)"}, pragmas...)}
	return (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: q.Encode()}).String()
}

// createPrivate makes the file before SQLite does: it holds password hashes, and
// SQLite gives its WAL the permissions of the file.
func createPrivate(path string) error {
	if err := makeDirectory(path); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("create the store: %w", err)
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("create the store: %w", err)
	}
	return nil
}

func makeDirectory(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("create the store's directory: %w", err)
	}
	return nil
}
