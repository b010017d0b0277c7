package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

var errEmptyFile = errors.New("it has no bytes, and a store that was made has some: its content is lost")

// newMarker is the file beside a store that is being created. While it is there an
// empty store is one whose creation was interrupted; without it, one that was lost.
func newMarker(path string) string { return path + ".new" }

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// createOrCheck creates a store's file where there is none, and refuses an empty
// one that no process is creating. The marker is on the disk before the file is.
func createOrCheck(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		if err := createPrivate(newMarker(path)); err != nil {
			return err
		}
		if err := syncDirectory(path); err != nil {
			return err
		}
	case err != nil:
		return fmt.Errorf("open the store: %w", err)
	case info.Size() == 0 && !fileExists(newMarker(path)):
		return &CorruptError{Path: path, Err: errEmptyFile}
	}
	return createPrivate(path)
}

// markCreated ends the creation of a store: from now on an empty file is a lost one.
func (s *Store) markCreated() error {
	if s.cfg.URL != "" || s.cfg.ReadOnly {
		return nil
	}
	if err := os.Remove(newMarker(s.cfg.Path)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("finish the store's creation: %w", err)
	}
	return nil
}

func syncDirectory(path string) error {
	d, err := os.Open(filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("create the store: %w", err)
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return fmt.Errorf("create the store: %w", err)
	}
	return nil
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
