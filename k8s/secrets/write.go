package secrets

import (
	"fmt"
	"os"
	"path/filepath"
)

// Write writes the entries to files in a directory, readable only by this user and its group: the
// containers of a pod share a group.
func Write(dir string, entries map[string][]byte) error {
	for name, value := range entries {
		path := filepath.Join(dir, name)
		// A stopped container may have left an incomplete file.
		if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
			return fmt.Errorf("write a secret to %s: %w", path, err)
		}
		if err := os.WriteFile(path, value, 0o440); err != nil {
			return fmt.Errorf("write a secret to %s: %w", path, err)
		}
	}
	return nil
}
