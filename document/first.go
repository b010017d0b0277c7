package document

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// First reads the first of named that exists; the last of them must. With none
// named it looks in paths and is content with nothing, an empty document that
// is called name.
func First(name string, named, paths []string) (*Document, error) {
	files := named
	if len(named) == 0 {
		files = paths
	}
	for i, file := range files {
		data, err := os.ReadFile(file)
		if err == nil {
			return Parse(data, file)
		}
		last := len(named) > 0 && i == len(named)-1
		if !errors.Is(err, fs.ErrNotExist) || last {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
	}
	return New(name), nil
}
