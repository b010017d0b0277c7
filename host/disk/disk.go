// Package disk puts files, links and the directories that they are in onto a machine.
package disk

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/det-deploy/det-deploy/atomicfile"
)

// Replace writes a file anew, with the directories it is in. A program that runs
// from it goes on.
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

// SHA256 is the hash of a file's content, in hexadecimal digits.
func SHA256(path string) (string, error) {
	in, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer in.Close() //nolint:errcheck // it was only read
	sum := sha256.New()
	if _, err := io.Copy(sum, in); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
