package usage

import (
	"errors"
	"io/fs"
	"os"
)

// ReadFile reads a file that the user named. what describes it in the error, such as "the task's
// configuration" or "--config-file".
func ReadFile(what, path string) ([]byte, error) {
	raw, err := os.ReadFile(path)
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
