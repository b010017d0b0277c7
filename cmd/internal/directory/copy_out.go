package directory

import (
	"archive/tar"
	"cmp"
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

// CopyOut makes a copy of the file or directory that was asked for, the only one of a tar archive: in to if
// that is a directory, or else with the name to. Existing files are replaced. Nothing is written outside of the
// copy, wherever links of the archive lead.
func CopyOut(to, asked string, from io.Reader) (Copied, error) {
	r := tar.NewReader(from)
	first, err := r.Next()
	if err != nil {
		return Copied{}, fmt.Errorf("cannot read the archive of the task: %w", err)
	}
	c := &copyingOut{top: topOf(asked)}
	if err := c.open(to, first); err != nil {
		return c.Copied, err
	}
	defer c.root.Close() //nolint:errcheck // its files are closed
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
	c.removeLinks()
	return c.Copied, errors.Join(err, c.closeDirectories())
}

// topOf returns the name of a path of a task in its archive.
func topOf(asked string) string {
	if base := path.Base(path.Clean(asked)); base != "/" && base != ".." {
		return base
	}
	return "."
}

// copyingOut is an archive that is unpacked, whose entries begin with top.
type copyingOut struct {
	Copied

	top string
	// root is the copy of a directory. The copy of a file is the file named single in it.
	root   *os.Root
	single string
	// directories get their permissions last: they may forbid writing.
	directories []*tar.Header
	links       []string
}

// open opens the directory that is written to, depending on the first entry of the archive.
func (c *copyingOut) open(to string, first *tar.Header) error {
	if info, err := os.Stat(to); err == nil && info.IsDir() {
		to = filepath.Join(to, c.top)
	}
	c.To = filepath.Clean(to)
	if first.Typeflag != tar.TypeDir && path.Clean(first.Name) == c.top {
		to, c.single = filepath.Dir(c.To), filepath.Base(c.To)
	} else if err := os.Mkdir(c.To, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	root, err := os.OpenRoot(to)
	c.root = root
	return err
}

// localName returns the path of an entry below the root.
func (c *copyingOut) localName(name string) (string, error) {
	rest, found := path.Clean(name), true
	if c.top != "." {
		rest, found = strings.CutPrefix(rest+"/", c.top+"/")
		rest = cmp.Or(strings.TrimSuffix(rest, "/"), ".")
	}
	if !found || !filepath.IsLocal(filepath.FromSlash(rest)) || c.single != "" && rest != "." {
		return "", errors.New("it is outside of what was asked for")
	}
	return cmp.Or(c.single, filepath.FromSlash(rest)), nil
}

const permissions = fs.FileMode(0o777)

func (c *copyingOut) add(h *tar.Header, from io.Reader) error {
	name, err := c.localName(h.Name)
	switch {
	case err != nil:
		return err
	case h.Typeflag == tar.TypeReg && !isSparse(h):
		return c.addFile(name, h, from)
	case h.Typeflag == tar.TypeDir && c.single == "":
		c.directories = append(c.directories, h)
		return c.root.MkdirAll(name, 0o755)
	case h.Typeflag == tar.TypeLink && c.single == "":
		old, err := c.localName(h.Linkname)
		if err != nil {
			return err
		}
		_ = c.root.Remove(name) // replaces an earlier copy
		return c.root.Link(old, name)
	case h.Typeflag == tar.TypeSymlink && name != "." && c.single == "" && isBelow(name, h.Linkname):
		c.links = append(c.links, name)
		_ = c.root.Remove(name) // as above
		return c.root.Symlink(h.Linkname, name)
	}
	c.LeftOut++
	return nil
}

// isSparse reports whether a file has holes, which the archives of tasks do not: a few bytes could describe one
// that fills the disk.
func isSparse(h *tar.Header) bool {
	for key := range h.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") {
			return true
		}
	}
	return false
}

// isBelow reports whether a link leads to something in the copy, if no other link is on its way.
func isBelow(link, to string) bool {
	to = filepath.FromSlash(to)
	return !filepath.IsAbs(to) && filepath.IsLocal(filepath.Join(filepath.Dir(link), to))
}

// removeLinks removes the links that lead elsewhere by other links.
func (c *copyingOut) removeLinks() {
	for _, name := range c.links {
		if _, err := c.root.Stat(name); err != nil && !errors.Is(err, fs.ErrNotExist) && c.root.Remove(name) == nil {
			c.LeftOut++
		}
	}
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
