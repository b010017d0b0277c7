package master

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/det-deploy/det-deploy/master/store"
)

// Backup writes the store into a new file, or an object of a bucket, and returns its
// size in bytes. A dry run reads everything and writes nothing. A backup that fails
// leaves neither.
func Backup(ctx context.Context, p Parts, path string, dryRun bool) (int64, error) {
	var size counter
	err := withStore(ctx, p, slog.New(slog.DiscardHandler), func(s *store.Store) error {
		write := func(w io.Writer) error { return s.Backup(ctx, io.MultiWriter(w, &size)) }
		if dryRun {
			return s.Backup(ctx, &size)
		}
		scheme, _, hasScheme := strings.Cut(path, "://")
		if upload, ok := p.Uploads[scheme]; ok && hasScheme {
			return uploadBackup(ctx, upload, path, write)
		}
		return writeBackup(path, write)
	})
	return int64(size), err
}

// uploadBackup uploads what write writes.
func uploadBackup(ctx context.Context, upload Upload, url string, write func(io.Writer) error) error {
	from, to := io.Pipe()
	var writing errgroup.Group
	writing.Go(func() error {
		err := write(to)
		return errors.Join(err, to.CloseWithError(err)) // a writer that fails leaves no object
	})
	err := upload(ctx, url, from)
	if err != nil {
		err = fmt.Errorf("write the backup: %w", err)
	}
	_ = from.CloseWithError(err) // so that the writer ends; a pipe closes always
	if wrote := writing.Wait(); err == nil {
		err = wrote
	}
	return err
}

// writeBackup writes a file that did not exist, whole and on the disk, or none.
func writeBackup(path string, write func(io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("write the backup: %w", err)
	}
	err = write(f)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}

// counter counts the bytes that are written to it.
type counter int64

func (c *counter) Write(b []byte) (int, error) {
	*c += counter(len(b))
	return len(b), nil
}

// Restore reads a backup into the store, which must be empty.
func Restore(ctx context.Context, p Parts, path string) error {
	into, err := storeConfig(ctx, p, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("read the backup: %w", err)
	}
	return errors.Join(store.Restore(ctx, f, into), f.Close())
}
