package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Count is how many containers of a data_dir there are whose end the master does not know
// yet. It changes nothing: an agent may be at work.
func Count(dataDir string) (int, error) {
	dir := filepath.Join(dataDir, "containers")
	names, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("list containers on disk: %w", err)
	}
	n := 0
	for _, name := range names {
		if e := (Entry{dir: filepath.Join(dir, name.Name())}); !e.cutShort() {
			n++
		}
	}
	return n, nil
}
