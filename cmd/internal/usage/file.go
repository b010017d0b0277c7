package usage

import (
	"errors"
	"io"
	"io/fs"
	"os"
)

// largestFile is more than any file of settings or certificates has.
const largestFile = 16 << 20

// ReadFile reads a file that the user named. what describes it in the error, such as "the task's
// configuration" or "--config-file".
func ReadFile(what, path string) ([]byte, error) {
	raw, err := readStart(path)
	if err == nil && len(raw) > largestFile {
		return nil, Errorf("cannot read %s: %s is larger than 16 MB", what, path)
	}
	if err == nil {
		return raw, nil
	}
	if info, statErr := os.Stat(path); statErr == nil && info.IsDir() {
		return nil, Errorf("cannot read %s: %s is a directory", what, path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, Errorf("cannot read %s: %s does not exist", what, path)
	}
	if errors.Is(err, fs.ErrPermission) {
		return nil, Errorf("cannot read %s: this user may not read %s", what, path)
	}
	return nil, Errorf("cannot read %s: %w", what, err)
}

// readStart reads a file, or of a larger one only what shows that it is too large.
func readStart(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // the file was only read
	return io.ReadAll(io.LimitReader(f, largestFile+1))
}
