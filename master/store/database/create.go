package database

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

var errEmptyFile = errors.New("the file is empty: its content is lost")

// newMarker returns the marker file of a store that is being created. An empty store with a marker
// was interrupted during its creation; an empty store without a marker has lost its content.
func newMarker(path string) string { return path + ".new" }

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// prepareFile locks the file, and creates it with its directory if it is missing.
func (d *Database) prepareFile() (err error) {
	if err := makeDirectory(d.path); err != nil {
		return err
	}
	if d.lock, err = takeLock(d.path); err != nil {
		return err
	}
	return createOrCheck(d.path)
}

// refuseEmpty returns a CorruptError if the file has lost its content.
func refuseEmpty(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("open store read-only: %w", err)
	}
	if info.Size() == 0 && !fileExists(newMarker(path)) {
		return &CorruptError{Path: path, Err: errEmptyFile}
	}
	return nil
}

// createOrCheck creates the file of a store if it is missing. It returns a CorruptError if the file
// is empty without a marker. The marker is synced to disk before the file is created.
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

// MarkCreated removes the marker after the creation. From then on an empty file counts as corrupt.
func (d *Database) MarkCreated() error {
	if d.path == "" {
		return nil
	}
	if err := os.Remove(newMarker(d.path)); err != nil && !errors.Is(err, os.ErrNotExist) {
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

// createPrivate creates the file with private permissions before SQLite opens it, because it
// contains password hashes. SQLite applies the permissions of the file to its WAL.
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
