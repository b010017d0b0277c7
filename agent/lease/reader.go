package lease

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Reader reads the lease of an agent that may be stopped or gone.
type Reader struct {
	shared *os.File
	file   string
	boot   string
}

// File is where the lease of a data_dir is.
func File(dataDir string) string { return filepath.Join(dataDir, "lease") }

// NewReader reads what Shared of an agent's lease gave, and the file of its data_dir. The
// error is that the former is no lease.
func NewReader(shared *os.File, dataDir string) (*Reader, error) {
	boot, err := bootID()
	if err != nil {
		return nil, fmt.Errorf("read lease: %w", err)
	}
	r := &Reader{shared: shared, file: File(dataDir), boot: boot}
	_, err = r.Term()
	return r, err
}

// Term is the lease now: what the agent shares, which no disk can keep from being
// written, or the file, if an agent that was started since has renewed that.
func (r *Reader) Term() (Term, error) {
	t, err := r.readSteady(r.shared)
	if err != nil {
		return t, fmt.Errorf("read lease: %w", err)
	}
	f, err := os.Open(r.file)
	if err != nil {
		return t, nil // a disk that fails is what the shared one is for
	}
	defer func() { _ = f.Close() }()
	if next, err := r.readSteady(f); err == nil && next.From > t.From {
		return next, nil
	}
	return t, nil
}

// errUnsteady says that the lease changed each time it was read.
var errUnsteady = errors.New("it changes all the time")

// readTries is how often the lease is read until two readings are the same.
const readTries = 10

// readSteady reads twice: an agent may be writing.
func (r *Reader) readSteady(f *os.File) (Term, error) {
	last, err := readTerm(f, r.boot)
	for range readTries {
		var now Term
		if now, err = readTerm(f, r.boot); err == nil && now == last {
			return now, nil
		}
		last = now
	}
	if err == nil {
		err = errUnsteady
	}
	return Term{}, err
}
