package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/store"
)

// Backup writes the store of cfg into a new file and returns its size in
// bytes. A dry run reads everything and writes nothing. A backup that fails
// leaves no file.
func Backup(ctx context.Context, cfg config.Master, path string, dryRun bool) (int64, error) {
	var size counter
	err := withStore(ctx, cfg, slog.New(slog.DiscardHandler), func(s *store.Store) error {
		if dryRun {
			return s.Backup(ctx, &size)
		}
		return create(path, func(w io.Writer) error { return s.Backup(ctx, io.MultiWriter(w, &size)) })
	})
	return int64(size), err
}

// create writes a file that did not exist, whole and on the disk, or none.
func create(path string, write func(io.Writer) error) error {
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

// Restore reads a backup into the store of cfg, which must be empty.
func Restore(ctx context.Context, cfg config.Master, path string) error {
	into, err := storeConfig(ctx, cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("read the backup: %w", err)
	}
	return errors.Join(store.Restore(ctx, f, into), f.Close())
}
