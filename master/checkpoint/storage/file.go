package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
)

// Open opens a file of the checkpoint. The error is fs.ErrNotExist if the checkpoint does not have it.
func (c Checkpoint) Open(ctx context.Context, name string) (*File, error) {
	if names, maybe := FilesOf(c.Resources); name == "" || name != maybe && !slices.Contains(names, name) {
		return nil, fs.ErrNotExist
	}
	f := &File{ctx: ctx, source: c.Source, name: path.Join(c.UUID, name)}
	from, size, err := f.source.Open(ctx, f.name, 0)
	if err != nil {
		return nil, fmt.Errorf("read %s of checkpoint %s: %w", name, c.UUID, err)
	}
	f.from, f.size = from, size
	return f, nil
}

// File is an open file of a checkpoint. It is opened again where it is read after a Seek.
type File struct {
	ctx    context.Context // of the calls of Open and of all reads
	source Source
	name   string
	size   int64
	// at is the offset of the next Read, and from the storage's reader at this offset, or nil.
	at   int64
	from io.ReadCloser
}

// Read implements io.Reader.
func (f *File) Read(b []byte) (int, error) {
	if f.at >= f.size {
		return 0, io.EOF
	}
	if f.from == nil {
		from, _, err := f.source.Open(f.ctx, f.name, f.at)
		if err != nil {
			return 0, err
		}
		f.from = from
	}
	n, err := f.from.Read(b)
	f.at += int64(n)
	return n, err
}

// Seek implements io.Seeker.
func (f *File) Seek(offset int64, whence int) (int64, error) {
	to := offset
	switch whence {
	case io.SeekCurrent:
		to += f.at
	case io.SeekEnd:
		to += f.size
	}
	if to < 0 {
		return f.at, errors.New("seek before the beginning of a file")
	}
	if to == f.at {
		return to, nil
	}
	f.at = to
	return to, f.Close()
}

// Close closes the file.
func (f *File) Close() error {
	if f.from == nil {
		return nil
	}
	err := f.from.Close()
	f.from = nil
	return err
}
