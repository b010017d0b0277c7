package directory

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
)

// Extracted counts the files of an extracted archive.
type Extracted struct {
	Files int   `json:"files"`
	Bytes int64 `json:"bytes"`
}

// Extract extracts the files of a gzipped tar archive to a directory, which it creates. Existing files are
// replaced. It returns an error for a file outside of the directory.
func Extract(dir string, from io.Reader) (Extracted, error) {
	var u Extracted
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return u, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return u, err
	}
	defer root.Close() //nolint:errcheck // its files are closed
	z, err := gzip.NewReader(from)
	if err != nil {
		return u, fmt.Errorf("cannot read the archive: %w", err)
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return u, nil
		}
		if err == nil && h.Typeflag == tar.TypeReg {
			err = u.writeFile(root, h.Name, r)
		}
		if err != nil {
			return u, err
		}
	}
}

// partSuffix ends the name of a file until it is complete.
const partSuffix = ".part"

// writeFile writes a file, or removes what was written of it.
func (u *Extracted) writeFile(root *os.Root, name string, from io.Reader) error {
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := root.Create(name + partSuffix)
	if err != nil {
		return err
	}
	n, err := io.Copy(f, from)
	if err = errors.Join(err, f.Close()); err == nil {
		err = root.Rename(name+partSuffix, name)
	}
	if err != nil {
		return errors.Join(err, root.Remove(name+partSuffix))
	}
	u.Files++
	u.Bytes += n
	return nil
}
