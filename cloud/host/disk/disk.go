// Package disk puts files, links and the directories that they are in onto a machine.
package disk

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/det-deploy/det-deploy/internal/atomicfile"
)

// Replace creates or replaces a file and its directories. A program that runs from it
// continues.
func Replace(path string, mode fs.FileMode, fill func(io.Writer) error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return atomicfile.Replace(path, mode, fill)
}

// From fills a file with all that r has.
func From(r io.Reader) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.Copy(w, r)
		return err
	}
}

// Link points a symbolic link elsewhere, also in place of a file.
func Link(to, path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("link %s: %w", path, err)
	}
	return atomicfile.Link(to, path)
}
