package atomicfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
)

// DamagedError is a file that does not hold what was written to it: a disk lost a
// part of it, or another program changed it.
type DamagedError struct {
	Path string
	// Err says what is wrong with it.
	Err error
	// Fix is what to do about it, a clause.
	Fix string
}

// Error names the file, what is wrong and what to do: logs have no place for hints.
func (e *DamagedError) Error() string { return fmt.Sprintf("read %s: %v; %s", e.Path, e.Err, e.Fix) }

// Unwrap is what is wrong.
func (e *DamagedError) Unwrap() error { return e.Err }

// ErrEmpty is a file without content.
var ErrEmpty = errors.New("it is empty")

// errCutOff is a file of which the end is missing.
var errCutOff = errors.New("it ends in the middle")

// ReadJSON reads a document that Write wrote. One that is damaged is a DamagedError
// with fix; one that is not there matches fs.ErrNotExist.
func ReadJSON(path, fix string, into any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return &DamagedError{Path: path, Err: JSONDamage(data, err), Fix: fix}
	}
	return nil
}

// JSONDamage says in words why data is not the document that was written, which a
// decoder has refused with err.
func JSONDamage(data []byte, err error) error {
	if len(bytes.TrimSpace(data)) == 0 {
		return ErrEmpty
	}
	if e, ok := errors.AsType[*json.SyntaxError](err); ok && e.Offset >= int64(len(data)) && bytes.IndexByte(data, 0) < 0 {
		return errCutOff
	}
	return fmt.Errorf("it is not the document that was written: %w", err)
}
