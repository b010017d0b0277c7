package podinit

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
)

// Limits of an archive, the same as for agents. The master has lower ones.
const (
	maxBytes   = 64 << 30
	maxEntries = 200_000
)

// unpacker extracts an archive into a directory. It never writes outside of it, regardless of the
// archive's content and of existing links.
type unpacker struct {
	root     *os.Root
	uid, gid int

	// late contains the directories whose modes are set after their files are written.
	late []entry
}

type entry struct {
	name string
	*tar.Header
}

func (u *unpacker) unpackArchive(r io.Reader) error {
	z, err := gzip.NewReader(r)
	if err != nil {
		return finalArchiveError(err)
	}
	archive := tar.NewReader(z)
	left, entries := int64(maxBytes), 0
	for {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return u.finishDirectories()
		}
		if err != nil {
			return finalArchiveError(err)
		}
		if entries++; entries > maxEntries || h.Size > left {
			return final{fmt.Errorf("more than %d files or %d bytes", maxEntries, int64(maxBytes))}
		}
		left -= h.Size
		if err := u.putEntry(h, archive); err != nil {
			return fmt.Errorf("%q: %w", h.Name, finalPathError(err))
		}
	}
}

// finalPathError marks an error of the volume, such as a full one, as final: a retry would fail
// again.
func finalPathError(err error) error {
	_, onPath := errors.AsType[*fs.PathError](err)
	_, onLink := errors.AsType[*os.LinkError](err)
	if onPath || onLink {
		return final{err}
	}
	return err
}

// finalArchiveError separates a truncated archive, which a retry may fix, from a file that is not
// an archive.
func finalArchiveError(err error) error {
	if errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) || errors.Is(err, tar.ErrHeader) {
		return final{fmt.Errorf("read the archive: %w", err)}
	}
	return fmt.Errorf("read the archive: %w", err)
}

func (u *unpacker) putEntry(h *tar.Header, r io.Reader) error {
	if h.Typeflag == tar.TypeXGlobalHeader {
		return nil
	}
	clean := path.Clean(h.Name)
	if !isLocal(clean) {
		return final{errors.New("the path is outside of the work directory")}
	}
	if clean == "." {
		return nil
	}
	if err := u.root.MkdirAll(path.Dir(clean), 0o755); err != nil {
		return err
	}
	switch h.Typeflag {
	case tar.TypeDir:
		return u.makeDirectory(entry{clean, h})
	case tar.TypeReg:
		return u.writeFile(entry{clean, h}, r)
	case tar.TypeSymlink:
		if path.IsAbs(h.Linkname) || !isLocal(path.Join(path.Dir(clean), h.Linkname)) {
			return final{fmt.Errorf("the link to %q is outside of the work directory", h.Linkname)}
		}
		return u.makeLink(entry{clean, h})
	}
	return final{fmt.Errorf("unsupported type %q; only files, directories and symbolic links are allowed", h.Typeflag)}
}

// isLocal reports whether a clean path stays below its start.
func isLocal(name string) bool {
	return name != ".." && !path.IsAbs(name) && !strings.HasPrefix(name, "../")
}

func (u *unpacker) makeDirectory(e entry) error {
	if old, err := u.root.Lstat(e.name); err == nil && !old.IsDir() {
		if err := u.root.Remove(e.name); err != nil {
			return err
		}
	}
	if err := u.root.Mkdir(e.name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	// An earlier attempt may have left it read-only.
	u.late = append(u.late, e)
	return u.root.Chmod(e.name, 0o700)
}

func (u *unpacker) writeFile(e entry, r io.Reader) error {
	if err := u.clearPath(e.name); err != nil {
		return err
	}
	f, err := u.root.OpenFile(e.name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err := io.Copy(f, r); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := f.Close(); err != nil {
		return err
	}
	return u.finishOne(e)
}

func (u *unpacker) makeLink(e entry) error {
	if err := u.clearPath(e.name); err != nil {
		return err
	}
	if err := u.root.Symlink(e.Linkname, e.name); err != nil {
		return err
	}
	return u.setOwner(e)
}

// clearPath removes the remains of an earlier attempt.
func (u *unpacker) clearPath(name string) error {
	err := u.root.Remove(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// finishDirectories sets the modes of directories, the innermost first.
func (u *unpacker) finishDirectories() error {
	for i := len(u.late) - 1; i >= 0; i-- {
		if err := u.finishOne(u.late[i]); err != nil {
			return fmt.Errorf("%q: %w", u.late[i].Name, err)
		}
	}
	return nil
}

func (u *unpacker) finishOne(e entry) error {
	if err := u.setOwner(e); err != nil {
		return err
	}
	if err := u.root.Chmod(e.name, fs.FileMode(e.Mode).Perm()); err != nil {
		return err
	}
	if e.ModTime.IsZero() || e.ModTime.Unix() == 0 {
		return nil
	}
	return u.root.Chtimes(e.name, e.ModTime, e.ModTime)
}

// setOwner sets the owner of a file if this program runs as root. Otherwise all files belong to the
// task's account, as which this program runs.
func (u *unpacker) setOwner(e entry) error {
	if os.Geteuid() != 0 || u.uid != 0 {
		return nil
	}
	return u.root.Lchown(e.name, e.Uid, e.Gid)
}
