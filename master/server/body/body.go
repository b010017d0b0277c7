// Package body holds large request bodies in a file while they arrive, and takes the
// files that they carry out of them without holding those in memory.
//
//	client ─▶ Spool: a file without a name ─▶ Sift ─▶ Rest: the JSON with empty contents
//	                                            └───▶ Content(i): the i-th file, decoded as it is read
package body

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// DiskError is a body that could not be kept, for a reason that is not its sender's.
type DiskError struct{ Err error }

// Error says what to look at.
func (e *DiskError) Error() string {
	return fmt.Sprintf("keep a large request in the master's data directory: %v; free some room there, and try again", e.Err)
}

// Unwrap is what the system said.
func (e *DiskError) Unwrap() error { return e.Err }

// Spool is a body in a file that has no name any more: whatever becomes of the
// process, its room is free when it ends.
type Spool struct {
	file *os.File
	size int64
}

// Place is where bodies are kept.
type Place struct {
	Dir string
	// Keep is how many bytes of its disk are left free: others write there too.
	Keep int64
}

// Spool reads from, of about length bytes, to its end into a file below the directory.
// The error is a *DiskError or what from returned.
func (p Place) Spool(length int64, from io.Reader) (*Spool, error) {
	f, err := unnamed(p.Dir)
	if err != nil {
		return nil, &DiskError{err}
	}
	if err := p.lookForRoom(length); err != nil {
		return nil, errors.Join(&DiskError{err}, f.Close())
	}
	n, err := io.Copy(&watched{to: f, look: p.lookForRoom}, from)
	_, ours := errors.AsType[*fs.PathError](err)
	if _, full := errors.AsType[*roomError](err); ours || full {
		err = &DiskError{err}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &Spool{f, n}, nil
}

func unnamed(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(dir, ".request-*")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Close gives the file's room back.
func (s *Spool) Close() error { return s.file.Close() }
