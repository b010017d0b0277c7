package secrets

import (
	"fmt"
	"os"
	"path/filepath"
)

// Write puts entries into files of a directory, which only this user and group can
// read: the programs of one pod share a group.
func Write(dir string, entries map[string][]byte) error {
	for name, value := range entries {
		path := filepath.Join(dir, name)
		// A file that a stopped container left may be half a file.
		if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
			return fmt.Errorf("write a secret to %s: %w", path, err)
		}
		if err := os.WriteFile(path, value, 0o440); err != nil {
			return fmt.Errorf("write a secret to %s: %w", path, err)
		}
	}
	return nil
}
