package atomicfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// system contains the system calls of a write, in the order of their use. Tests simulate a power
// failure after each.
type system interface {
	createTemp(dir, pattern string) (file, error)
	rename(from, to string) error
	syncDir(dir string) error
	remove(name string) error
}

type file interface {
	io.Writer
	Name() string
	Chmod(mode fs.FileMode) error
	Sync() error
	Close() error
}

// machine is the system of this machine.
type machine struct{}

// leftAlone is the age up to which a temporary file may belong to a running writer: writing a large
// program over a slow connection takes minutes.
const leftAlone = time.Hour

// tempPrefix returns the prefix of a file's temporary names, which end in digits.
func tempPrefix(path string) string { return "." + filepath.Base(path) + "." }

func (machine) createTemp(dir, pattern string) (file, error) {
	removeStale(dir, strings.TrimSuffix(pattern, "*"), time.Now().Add(-leftAlone))
	f, err := os.CreateTemp(dir, pattern) // mode 0600
	if err != nil {
		return nil, err // not a non-nil interface with a nil file
	}
	return f, nil
}

func (machine) rename(from, to string) error {
	err := os.Rename(from, to)
	if link, ok := errors.AsType[*os.LinkError](err); ok {
		return link.Err
	}
	return err
}

func (machine) syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func (machine) remove(name string) error { return os.Remove(name) }

// removeStale deletes temporary files of killed writers of the same file. It ignores files that
// cannot be inspected or deleted; the next write retries.
func removeStale(dir, prefix string, before time.Time) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		random, ours := strings.CutPrefix(e.Name(), prefix)
		if !ours || random == "" || strings.Trim(random, "0123456789") != "" {
			continue
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && info.ModTime().Before(before) {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

// Link atomically replaces a file or symbolic link with a link to another target.
func Link(to, path string) error {
	tmp := filepath.Join(filepath.Dir(path), tempPrefix(path)+"link")
	if err := os.Remove(tmp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return temporaryName(path, err)
	}
	if err := os.Symlink(to, tmp); err != nil {
		return temporaryName(path, err)
	}
	if err := (machine{}).rename(tmp, path); err != nil {
		return temporaryName(path, err)
	}
	return temporaryName(path, machine{}.syncDir(filepath.Dir(path)))
}
