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

	"github.com/det-deploy/det-deploy/cmd/internal/usage"
)

// NameOf returns the name of an existing file or directory.
func NameOf(p string) (string, error) {
	if _, err := os.Lstat(p); errors.Is(err, fs.ErrNotExist) {
		return "", usage.Errorf("%s does not exist", p)
	} else if err != nil {
		return "", err
	}
	whole, err := filepath.Abs(p)
	if err != nil {
		return "", err
	}
	if whole == string(filepath.Separator) {
		return "", errors.New("cannot copy the whole file system; name a directory in it")
	}
	return filepath.Base(whole), nil
}

// CopyIn returns a file or a directory as a tar archive, in which it is called name. When the archive was
// read or closed, sent counts it and returns why it is not complete.
func CopyIn(from, name string) (archive io.ReadCloser, sent func() (Copied, error)) {
	r, w := io.Pipe()
	done := make(chan struct{})
	var c Copied
	var failed error
	go func() {
		defer close(done)
		t := tar.NewWriter(w)
		failed = c.packAll(t, from, name)
		if failed == nil {
			failed = t.Close()
		}
		_ = w.CloseWithError(failed) // never an error
	}()
	return r, func() (Copied, error) {
		_ = r.Close() // never an error
		<-done
		if errors.Is(failed, io.ErrClosedPipe) {
			return c, nil // the reader's error is the reason
		}
		return c, failed
	}
}

// packAll adds everything below a path.
func (c *Copied) packAll(t *tar.Writer, from, name string) error {
	return filepath.WalkDir(from, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		below, err := filepath.Rel(from, p)
		if err != nil {
			return err
		}
		return c.pack(t, p, path.Join(name, filepath.ToSlash(below)), info)
	})
}

func (c *Copied) pack(t *tar.Writer, from, name string, info fs.FileInfo) error {
	link := ""
	switch {
	case info.IsDir(), info.Mode().IsRegular():
	case info.Mode()&fs.ModeSymlink != 0:
		var err error
		if link, err = os.Readlink(from); err != nil {
			return err
		}
	default:
		c.LeftOut++
		return nil
	}
	h, err := tar.FileInfoHeader(info, link)
	if err != nil {
		return err
	}
	h.Name, h.Uid, h.Gid, h.Uname, h.Gname = name, 0, 0, "", ""
	if info.IsDir() {
		h.Name += "/"
	}
	if err := t.WriteHeader(h); err != nil || !info.Mode().IsRegular() {
		return err
	}
	return c.packContent(t, from, h.Size)
}

func (c *Copied) packContent(t *tar.Writer, from string, size int64) error {
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()                               //nolint:errcheck // it was read
	n, err := io.Copy(t, io.LimitReader(f, size)) // what was added since is left
	c.Files++
	c.Bytes += n
	if err == nil && n < size {
		err = fmt.Errorf("%s became shorter while it was copied", from)
	}
	return err
}
