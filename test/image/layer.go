package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// layer returns a tar archive of the named files, of the given data, and of their parent
// directories.
func layer(specs []string, data map[string][]byte) ([]byte, error) {
	// Programs expect a directory for temporary files.
	entries := map[string]entry{"tmp": {mode: fs.ModeDir | fs.ModeSticky | 0o777}}
	for _, s := range specs {
		src, dst, ok := strings.Cut(s, ":")
		if !ok {
			return nil, fmt.Errorf("--file: must be SRC:DST (is %q)", s)
		}
		if err := collect(entries, src, dst); err != nil {
			return nil, fmt.Errorf("--file %s: %w", s, err)
		}
	}
	for at, b := range data {
		entries[at] = entry{data: b, mode: 0o644}
		parents(entries, at)
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, n := range slices.Sorted(maps.Keys(entries)) {
		if err := entries[n].write(w, n); err != nil {
			return nil, fmt.Errorf("put %s in: %w", n, err)
		}
	}
	return b.Bytes(), w.Close()
}

// entry is one file of an image, without owner and modification time.
type entry struct {
	src  string
	data []byte // instead of src
	mode fs.FileMode
}

// parents adds the parent directories of at.
func parents(to map[string]entry, at string) {
	for up := path.Dir(at); up != "."; up = path.Dir(up) {
		if _, there := to[up]; !there {
			to[up] = entry{mode: fs.ModeDir | 0o755}
		}
	}
}

func collect(into map[string]entry, src, dst string) error {
	return filepath.WalkDir(src, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(src, p)
		if err != nil {
			return err
		}
		at := strings.TrimPrefix(path.Join("/", dst, filepath.ToSlash(rel)), "/")
		info, err := d.Info()
		if err == nil && p == src {
			info, err = os.Stat(p) // a symbolic link that was named is replaced by its target
		}
		if err != nil {
			return err
		}
		into[at] = entry{src: p, mode: info.Mode()}
		parents(into, at)
		return nil
	})
}

func (e entry) write(w *tar.Writer, at string) error {
	h := &tar.Header{Name: at, Mode: int64(e.mode.Perm()), Format: tar.FormatPAX}
	switch {
	case e.mode.IsDir():
		if e.mode&fs.ModeSticky != 0 {
			h.Mode |= 0o1000 // the sticky bit of tar
		}
		h.Typeflag, h.Name = tar.TypeDir, at+"/"
		return w.WriteHeader(h)
	case e.mode&fs.ModeSymlink != 0:
		to, err := os.Readlink(e.src)
		h.Typeflag, h.Linkname = tar.TypeSymlink, to
		return errors.Join(err, w.WriteHeader(h))
	}
	b := e.data
	if b == nil {
		var err error
		if b, err = os.ReadFile(e.src); err != nil {
			return err
		}
	}
	h.Typeflag, h.Size = tar.TypeReg, int64(len(b))
	if err := w.WriteHeader(h); err != nil {
		return err
	}
	_, err := w.Write(b)
	return err
}
