// Package atomicfile writes files atomically: a reader, even after a power failure, finds the old
// or the new content and never a part of it. Any package may import it.
package atomicfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Write creates or replaces a file and syncs it. The directory must exist.
func Write(path string, data []byte, mode fs.FileMode) error {
	return Replace(path, mode, func(w io.Writer) error { return writeAll(w, data) })
}

// Replace is like Write, but fill writes the content. A program that is running from the old file
// continues to run.
func Replace(path string, mode fs.FileMode, fill func(io.Writer) error) error {
	return replaceOn(machine{}, path, mode, fill)
}

// WriteUnsynced is like Write, but does not sync: a reader finds the old or the new content, also
// after a kill of the writer, but the file may be empty after a crash of the machine. Use it for
// content that is meaningless after a reboot. It does not remove the temporary files of killed
// writers, because the directory may be very large and is not listed; that is left to the caller.
func WriteUnsynced(path string, data []byte, mode fs.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), tempPrefix(path)+"*")
	if err != nil {
		return temporaryName(path, err)
	}
	p := &Pending{file: f, on: machine{}, path: path, mode: mode, unsynced: true}
	return p.fillAndCommit(func(w io.Writer) error { return writeAll(w, data) })
}

func replaceOn(on system, path string, mode fs.FileMode, fill func(io.Writer) error) error {
	p, err := createOn(on, path, mode)
	if err != nil {
		return err
	}
	return p.fillAndCommit(fill)
}

func writeAll(w io.Writer, data []byte) error {
	_, err := w.Write(data)
	return err
}

// Pending is a temporary file that replaces another on Commit.
type Pending struct {
	on       system
	file     file
	path     string
	mode     fs.FileMode
	closed   bool
	unsynced bool
}

// Create creates a temporary file that Commit renames to path. The caller defers Discard, which
// does nothing after Commit.
func Create(path string, mode fs.FileMode) (*Pending, error) {
	return createOn(machine{}, path, mode)
}

func createOn(on system, path string, mode fs.FileMode) (*Pending, error) {
	f, err := on.createTemp(filepath.Dir(path), tempPrefix(path)+"*")
	if err != nil {
		return nil, temporaryName(path, err)
	}
	return &Pending{on: on, file: f, path: path, mode: mode}, nil
}

// Name returns the path of the temporary file.
func (p *Pending) Name() string { return p.file.Name() }

// Write implements io.Writer.
func (p *Pending) Write(b []byte) (int, error) {
	n, err := p.file.Write(b)
	return n, temporaryName(p.path, err)
}

// Finish syncs and closes the file, which then may be read or executed at Name.
func (p *Pending) Finish() error {
	if p.closed {
		return nil
	}
	p.closed = true
	err := p.file.Chmod(p.mode)
	if err == nil && !p.unsynced {
		err = p.file.Sync()
	}
	return temporaryName(p.path, errors.Join(err, p.file.Close()))
}

// Commit renames the file to its path and syncs the directory.
func (p *Pending) Commit() error {
	if err := p.Finish(); err != nil {
		return err
	}
	if err := p.on.rename(p.Name(), p.path); err != nil {
		return temporaryName(p.path, err)
	}
	p.file = nil
	if p.unsynced {
		return nil
	}
	return temporaryName(p.path, p.on.syncDir(filepath.Dir(p.path)))
}

// Discard deletes the temporary file if it was not committed.
func (p *Pending) Discard() {
	if p.file == nil {
		return
	}
	if !p.closed {
		p.closed = true
		_ = p.file.Close() // the content is discarded
	}
	_ = p.on.remove(p.Name()) // the next write of this file removes a leftover
	p.file = nil
}

func (p *Pending) fillAndCommit(fill func(io.Writer) error) error {
	defer p.Discard()
	if err := fill(p); err != nil {
		return err
	}
	return p.Commit()
}

// temporaryName replaces the temporary name in an error with the file's path.
func temporaryName(path string, err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	}
	return fmt.Errorf("write %s: %w", path, err)
}
