// Package disk writes files and symbolic links and creates their directories.
package disk

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/det-deploy/det-deploy/internal/atomicfile"
)

// Replace creates or atomically replaces a file and creates its directories. A process that runs
// the old file is not affected.
func Replace(path string, mode fs.FileMode, fill func(io.Writer) error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return atomicfile.Replace(path, mode, fill)
}

// From returns a function that copies r to a file.
func From(r io.Reader) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.Copy(w, r)
		return err
	}
}

// Link creates a symbolic link, replacing an existing link or file.
func Link(to, path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("link %s: %w", path, err)
	}
	return atomicfile.Link(to, path)
}
