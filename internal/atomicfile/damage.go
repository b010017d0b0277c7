package atomicfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
)

// DamagedError is returned for a file whose content is not valid, because a disk lost a part of it
// or another program changed it.
type DamagedError struct {
	Path string
	// Err describes the damage.
	Err error
	// Fix is a clause that describes a remedy.
	Fix string
}

// Error includes the remedy, because logs do not print hints.
func (e *DamagedError) Error() string { return fmt.Sprintf("read %s: %v; %s", e.Path, e.Err, e.Fix) }

// Unwrap returns the damage.
func (e *DamagedError) Unwrap() error { return e.Err }

// ErrEmpty is the damage of an empty file.
var ErrEmpty = errors.New("it is empty")

// errCutOff is the damage of a truncated file.
var errCutOff = errors.New("it ends in the middle")

// ReadJSON reads and decodes a JSON file. It returns a *DamagedError with fix if the file is
// damaged, and an error that matches fs.ErrNotExist if it does not exist.
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

// JSONDamage describes the damage of data that a JSON decoder rejected with err.
func JSONDamage(data []byte, err error) error {
	if len(bytes.TrimSpace(data)) == 0 {
		return ErrEmpty
	}
	if e, ok := errors.AsType[*json.SyntaxError](err); ok && e.Offset >= int64(len(data)) && bytes.IndexByte(data, 0) < 0 {
		return errCutOff
	}
	return fmt.Errorf("it is not the document that was written: %w", err)
}
