// Package body stores large request bodies in a file while they arrive, and extracts the embedded files
// from them without holding those in memory.
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

// DiskError reports that a body could not be stored for a reason that the client did not cause.
type DiskError struct{ Err error }

// Error implements error and suggests a remedy.
func (e *DiskError) Error() string {
	return fmt.Sprintf("cannot store a large request in the master's data directory: %v; free some disk space and try again", e.Err)
}

// Unwrap returns Err.
func (e *DiskError) Unwrap() error { return e.Err }

// Spool is a body in an unlinked file, so that its disk space is freed even if the process is killed.
type Spool struct {
	file *os.File
	size int64
}

// Place is the directory for bodies.
type Place struct {
	Dir string
	// Keep is the number of bytes to leave free, because other programs write to the same disk.
	Keep int64
}

// Spool reads from until its end into a file in the directory. length is its approximate number of bytes.
// Spool returns a *DiskError or the error of from.
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

// Reader reads the body from its beginning.
func (s *Spool) Reader() io.Reader { return io.NewSectionReader(s.file, 0, s.size) }

// Close closes the file and frees its disk space.
func (s *Spool) Close() error { return s.file.Close() }
