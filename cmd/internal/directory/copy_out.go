package directory

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Copied counts what was copied.
type Copied struct {
	Extracted
	// To is the path of the copy.
	To string `json:"to,omitempty"`
	// LeftOut counts links that lead elsewhere, and entries that are no files.
	LeftOut int `json:"left_out"`
}

// CopyOut makes a copy of the only file or directory of a tar archive: in to if that is a directory, or
// else with the name to. Existing files are replaced. Nothing is written outside of the copy.
func CopyOut(to string, from io.Reader) (Copied, error) {
	r := tar.NewReader(from)
	first, err := r.Next()
	if err != nil {
		return Copied{}, fmt.Errorf("cannot read the archive of the task: %w", err)
	}
	top, _, _ := strings.Cut(path.Clean(first.Name), "/")
	name := top
	if info, err := os.Stat(to); err == nil && info.IsDir() {
		if !filepath.IsLocal(top) {
			return Copied{}, fmt.Errorf("the archive of the task begins with %q, which is no name of a file", first.Name)
		}
	} else {
		to, name = filepath.Dir(filepath.Clean(to)), filepath.Base(filepath.Clean(to))
	}
	root, err := os.OpenRoot(to)
	if err != nil {
		return Copied{}, err
	}
	defer root.Close() //nolint:errcheck // its files are closed
	c := &copyingOut{Copied: Copied{To: filepath.Join(to, name)}, root: root, top: top, name: name}
	for h := first; ; {
		if err := c.add(h, r); err != nil {
			return c.Copied, fmt.Errorf("copy %s: %w", h.Name, err)
		}
		if h, err = r.Next(); err != nil {
			break
		}
	}
	if !errors.Is(err, io.EOF) {
		return c.Copied, err
	}
	_, err = io.Copy(io.Discard, from) // an error may come after the last file
	return c.Copied, errors.Join(err, c.closeDirectories())
}

// copyingOut is an archive that is unpacked. Its entries begin with top, which is called name here.
type copyingOut struct {
	Copied
	root      *os.Root
	top, name string
	// directories get their permissions last: they may forbid writing.
	directories []*tar.Header
}

// localName returns the path of an entry below the root.
func (c *copyingOut) localName(name string) (string, error) {
	first, rest, _ := strings.Cut(path.Clean(name), "/")
	local := filepath.Join(c.name, filepath.FromSlash(rest))
	if first != c.top || !filepath.IsLocal(local) {
		return "", errors.New("it is outside of what was asked for")
	}
	return local, nil
}

const permissions = fs.FileMode(0o777)

func (c *copyingOut) add(h *tar.Header, from io.Reader) error {
	name, err := c.localName(h.Name)
	if err != nil {
		return err
	}
	switch h.Typeflag {
	case tar.TypeDir:
		c.directories = append(c.directories, h)
		return c.root.MkdirAll(name, 0o755)
	case tar.TypeReg:
		return c.addFile(name, h, from)
	case tar.TypeSymlink:
		if filepath.IsAbs(h.Linkname) || !isBelow(name, h.Linkname, c.name) {
			c.LeftOut++
			return nil
		}
		_ = c.root.Remove(name) // replaces an earlier copy
		return c.root.Symlink(h.Linkname, name)
	case tar.TypeLink:
		old, err := c.localName(h.Linkname)
		if err != nil {
			return err
		}
		_ = c.root.Remove(name) // as above
		return c.root.Link(old, name)
	}
	c.LeftOut++
	return nil
}

// isBelow reports whether a link leads to something in the copy.
func isBelow(link, to, top string) bool {
	at := filepath.Join(filepath.Dir(link), filepath.FromSlash(to))
	return at == top || strings.HasPrefix(at, top+string(filepath.Separator))
}

func (c *copyingOut) addFile(name string, h *tar.Header, from io.Reader) error {
	if err := c.root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := c.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	n, err := io.Copy(f, from)
	c.Files++
	c.Bytes += n
	return errors.Join(err, f.Chmod(h.FileInfo().Mode()&permissions), f.Close(), c.root.Chtimes(name, h.ModTime, h.ModTime))
}

// closeDirectories sets the permissions of directories.
func (c *copyingOut) closeDirectories() error {
	for _, h := range c.directories {
		name, err := c.localName(h.Name)
		if err == nil {
			err = c.root.Chmod(name, h.FileInfo().Mode()&permissions|0o700) // so that they can be removed
		}
		if err != nil {
			return err
		}
	}
	return nil
}
