package record

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/internal/atomicfile"
)

// Dir stores a record in a directory on this computer. Its clock is the system clock.
type Dir struct {
	// Path is the directory; its parent must exist.
	Path string
}

var _ Store = Dir{}

// Make creates the directory, readable only by its owner.
func (d Dir) Make(context.Context) error {
	if err := os.MkdirAll(d.Path, 0o700); err != nil {
		return d.fileError("make", err)
	}
	return nil
}

// Get reads a file.
func (d Dir) Get(_ context.Context, key string) (Object, error) {
	path := filepath.Join(d.Path, key)
	data, err := os.ReadFile(path)
	if err != nil {
		return Object{}, d.fileError("read", err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return Object{}, d.fileError("read", err)
	}
	return Object{Data: data, Place: path, Version: digestOf(data), Written: info.ModTime(), Read: time.Now()}, nil
}

// Put writes a file and renames it into place, while it holds the directory's lock.
func (d Dir) Put(ctx context.Context, key string, data []byte, was string) (string, error) {
	err := d.withLock(func() error {
		if err := d.expectVersion(ctx, key, was); err != nil {
			return err
		}
		return d.writeFile(key, data)
	})
	if err != nil {
		return "", err
	}
	return digestOf(data), nil
}

// Delete removes a file if its version is unchanged.
func (d Dir) Delete(ctx context.Context, key, was string) error {
	err := d.withLock(func() error {
		if err := d.expectVersion(ctx, key, was); err != nil {
			return err
		}
		return os.Remove(filepath.Join(d.Path, key))
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil && cloud.KindOf(err) == cloud.Conflict {
		if _, gone := d.Get(ctx, key); cloud.KindOf(gone) == cloud.NotFound {
			return nil
		}
	}
	return err
}

// Destroy removes the directory.
func (d Dir) Destroy(context.Context) error {
	if err := os.RemoveAll(d.Path); err != nil {
		return d.fileError("remove", err)
	}
	return nil
}

// expectVersion returns a Conflict error unless the file has version was.
func (d Dir) expectVersion(ctx context.Context, key, was string) error {
	o, err := d.Get(ctx, key)
	if err != nil && cloud.KindOf(err) != cloud.NotFound {
		return err
	}
	if o.Version != was {
		return &cloud.Error{Kind: cloud.Conflict, Op: "write", Resource: filepath.Join(d.Path, key), Err: errors.New("another process wrote it first")}
	}
	return nil
}

// writeFile replaces the file under key atomically.
func (d Dir) writeFile(key string, data []byte) error {
	if err := atomicfile.Write(filepath.Join(d.Path, key), data, 0o600); err != nil {
		return d.fileError("write", err)
	}
	return nil
}

// withLock runs do while no other process or goroutine is in withLock for this directory. The
// system releases the lock when the holder's process ends.
func (d Dir) withLock(do func() error) error {
	lock := flock.New(filepath.Join(d.Path, ".lock"), flock.SetPermissions(0o600))
	err := lock.Lock()
	for errors.Is(err, syscall.EINTR) { // network file systems return it
		err = lock.Lock()
	}
	if err != nil {
		return d.fileError("lock", err)
	}
	defer func() { _ = lock.Close() }() // only read
	return do()
}

func (d Dir) fileError(op string, err error) error {
	kind := cloud.Unknown
	switch {
	case errors.Is(err, fs.ErrNotExist):
		kind = cloud.NotFound
	case errors.Is(err, fs.ErrPermission):
		kind = cloud.Denied
	}
	return &cloud.Error{Kind: kind, Op: fmt.Sprintf("%s the record", op), Resource: d.Path, Err: err}
}

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
