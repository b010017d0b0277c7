// Package atomicfile puts files in place so that no reader ever finds half of one:
// every reader, even after a power cut, finds the old or the new content. Any package
// may import it.
package atomicfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Write creates or replaces a file and returns when it is synced. Its directory must exist.
func Write(path string, data []byte, mode fs.FileMode) error {
	return Replace(path, mode, func(w io.Writer) error { return writeAll(w, data) })
}

// Replace is Write for content that fill writes. A program that runs from the file
// continues.
func Replace(path string, mode fs.FileMode, fill func(io.Writer) error) error {
	return replaceOn(machine{}, path, mode, fill)
}

// WriteUnsynced is Write without a sync: a reader finds the old or the new content, also
// after the writer was killed. After a crash of the machine the file may be empty, so it
// is for content that has no meaning after a reboot. The caller removes what killed
// writers have left: the directory may have very many files, and is not listed.
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

// Pending is a file that is being written beside the one it will replace.
type Pending struct {
	on       system
	file     file
	path     string
	mode     fs.FileMode
	closed   bool
	unsynced bool
}

// Create begins a file that Commit puts at path. The caller defers Discard,
// which does nothing after Commit.
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

// Name is where the file is until Commit.
func (p *Pending) Name() string { return p.file.Name() }

// Write implements io.Writer.
func (p *Pending) Write(b []byte) (int, error) {
	n, err := p.file.Write(b)
	return n, temporaryName(p.path, err)
}

// Finish ends the writing: the medium has the content, and Name may be run or read.
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

// Commit puts the file in its place, and returns when the medium has its name too.
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

// Discard removes what Commit has not put in place.
func (p *Pending) Discard() {
	if p.file == nil {
		return
	}
	if !p.closed {
		p.closed = true
		_ = p.file.Close() // what was written is not wanted
	}
	_ = p.on.remove(p.Name()) // the next write of this file removes what is left
	p.file = nil
}

func (p *Pending) fillAndCommit(fill func(io.Writer) error) error {
	defer p.Discard()
	if err := fill(p); err != nil {
		return err
	}
	return p.Commit()
}

// temporaryName says which file could not be written: the temporary name means nothing to people.
func temporaryName(path string, err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	}
	return fmt.Errorf("write %s: %w", path, err)
}
