// Package storage reads the files of checkpoints from their storages and packs them into archives.
package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/det-deploy/det-deploy/master/config"
)

// Source reads the files of a checkpoint storage.
type Source interface {
	// Open opens a file by its path below the storage's directory or prefix, at an offset that is 0 or
	// less than its size, and returns the size of all of it in bytes. The error is fs.ErrNotExist if the
	// file does not exist.
	Open(ctx context.Context, name string, offset int64) (io.ReadCloser, int64, error)
	// Close releases the resources of the source.
	Close() error
}

// OpenDirectory opens a storage that is a directory of this machine. Links out of the directory are
// not followed. It returns an error if the directory cannot be opened.
func OpenDirectory(dir string) (Source, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open the checkpoint storage %s, which the master must be able to read: %w", dir, err)
	}
	return &directory{root}, nil
}

// DirectoryOf returns the directory of a storage, or "" if the storage is not a directory.
func DirectoryOf(c config.CheckpointStorage) string {
	switch {
	case c.Directory != nil:
		return filepath.Clean(c.Directory.ContainerPath)
	case c.SharedFS != nil:
		return c.SharedFS.Directory()
	}
	return ""
}

type directory struct{ root *os.Root }

// Open implements Source.
func (d *directory) Open(_ context.Context, name string, offset int64) (io.ReadCloser, int64, error) {
	f, err := d.root.Open(filepath.FromSlash(name))
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("read %s: not a regular file", name)
	}
	if err == nil {
		_, err = f.Seek(offset, io.SeekStart)
	}
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, info.Size(), nil
}

// Close implements Source.
func (d *directory) Close() error { return d.root.Close() }

// ObjectName returns the name of a file in a bucket, constructed as by the client library.
func ObjectName(prefix, name string) string {
	return strings.TrimLeft(path.Join(prefix, name), "/")
}

// metadataFile exists in every checkpoint but is not always listed.
const metadataFile = "metadata.json"

// FilesOf returns the paths of a checkpoint's files. The file maybe is not listed and may be
// missing.
func FilesOf(resources map[string]int64) (names []string, maybe string) {
	for _, name := range sortedKeys(resources) {
		if !strings.HasSuffix(name, "/") && fs.ValidPath(name) {
			names = append(names, name)
		}
	}
	if _, listed := resources[metadataFile]; !listed {
		maybe = metadataFile
	}
	return names, maybe
}
