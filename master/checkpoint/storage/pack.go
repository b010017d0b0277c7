package storage

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"time"
)

// Format is an archive format as a media type.
type Format string

// The formats of Determined 0.38.1.
const (
	Gzip Format = "application/gzip"
	Tar  Format = "application/x-tar"
	Zip  Format = "application/zip"
)

// Formats returns all formats.
func Formats() []Format { return []Format{Gzip, Tar, Zip} }

// Extension returns the file name extension of the format.
func (f Format) Extension() string {
	return map[Format]string{Gzip: ".tar.gz", Tar: ".tar", Zip: ".zip"}[f]
}

func sortedKeys(m map[string]int64) []string { return slices.Sorted(maps.Keys(m)) }

// Checkpoint is the set of files of one checkpoint in a storage.
type Checkpoint struct {
	Source Source
	// UUID is the name of the checkpoint's directory.
	UUID      string
	Resources map[string]int64
	// Saved is the modification time of the files in the archive.
	Saved time.Time
}

// Pack writes all files to w. It writes nothing before it has opened the first file, so that an
// inaccessible storage is reported as an error without partial output.
func (c Checkpoint) Pack(ctx context.Context, f Format, w io.Writer) error {
	var p packer
	names, maybe := FilesOf(c.Resources)
	for _, name := range append(names, maybe) {
		if name == "" {
			continue
		}
		from, size, err := c.Source.Open(ctx, path.Join(c.UUID, name), 0)
		if errors.Is(err, fs.ErrNotExist) && name == maybe {
			continue
		}
		if err != nil {
			return fmt.Errorf("read %s of checkpoint %s: %w", name, c.UUID, err)
		}
		if p == nil {
			p = newPacker(f, w)
		}
		err = c.packFile(p, name, size, from)
		if err = errors.Join(err, from.Close()); err != nil {
			return fmt.Errorf("pack %s of checkpoint %s: %w", name, c.UUID, err)
		}
	}
	if p == nil {
		p = newPacker(f, w)
	}
	return p.close()
}

func (c Checkpoint) packFile(p packer, name string, size int64, from io.Reader) error {
	to, err := p.begin(name, size, c.Saved)
	if err != nil {
		return err
	}
	n, err := io.Copy(to, from)
	if err == nil && n != size {
		err = fmt.Errorf("the file ended after %d of %d bytes", n, size)
	}
	return err
}

// packer writes an archive.
type packer interface {
	begin(name string, size int64, saved time.Time) (io.Writer, error)
	close() error
}

func newPacker(f Format, w io.Writer) packer {
	switch f {
	case Zip:
		return &zipPacker{zip.NewWriter(w)}
	case Gzip:
		z, _ := gzip.NewWriterLevel(w, gzip.BestSpeed) // the level is valid; weights hardly compress
		return &tarPacker{Writer: tar.NewWriter(z), under: z}
	case Tar:
	}
	return &tarPacker{Writer: tar.NewWriter(w)}
}

const fileMode = 0o644

type tarPacker struct {
	*tar.Writer

	under io.Closer // may be nil
}

func (t *tarPacker) begin(name string, size int64, saved time.Time) (io.Writer, error) {
	return t.Writer, t.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: fileMode, ModTime: saved.Truncate(time.Second)})
}

func (t *tarPacker) close() error {
	err := t.Close()
	if err == nil && t.under != nil {
		err = t.under.Close()
	}
	return err
}

type zipPacker struct{ *zip.Writer }

func (z *zipPacker) begin(name string, _ int64, saved time.Time) (io.Writer, error) {
	h := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: saved}
	h.SetMode(fileMode)
	return z.CreateHeader(h)
}

func (z *zipPacker) close() error { return z.Close() }
