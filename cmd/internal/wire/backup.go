package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/det-deploy/det-deploy/cloud/aws/upload"
	"github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/store"
)

// Backup writes the store of cfg into a new file, or an object of a bucket, and returns
// its size in bytes. A dry run reads everything and writes nothing. A backup that fails
// leaves neither.
func Backup(ctx context.Context, cfg config.Master, path string, dryRun bool) (int64, error) {
	var size counter
	err := withStore(ctx, cfg, slog.New(slog.DiscardHandler), func(s *store.Store) error {
		write := func(w io.Writer) error { return s.Backup(ctx, io.MultiWriter(w, &size)) }
		switch {
		case dryRun:
			return s.Backup(ctx, &size)
		case strings.HasPrefix(path, upload.Scheme):
			return send(ctx, cfg, path, write)
		}
		return create(path, write)
	})
	return int64(size), err
}

// send writes an object, with the keys and at the server of the checkpoint storage where
// that is S3 too, and else with those that the environment has.
func send(ctx context.Context, cfg config.Master, url string, write func(io.Writer) error) error {
	bucket, name, err := upload.Address(url)
	if err != nil {
		return fmt.Errorf("write the backup: %w", err)
	}
	var server upload.Server
	if c := cfg.CheckpointStorage; c != nil && c.S3 != nil {
		server.EndpointURL = c.S3.EndpointURL
		if server.AccessKey, err = resolver().Resolve(ctx, c.S3.AccessKey); err == nil {
			server.SecretKey, err = resolver().Resolve(ctx, c.S3.SecretKey)
		}
		if err != nil {
			return fmt.Errorf("read the keys of checkpoint_storage: %w", err)
		}
	}
	api, err := upload.Open(ctx, server)
	if err != nil {
		return fmt.Errorf("write the backup: %w", err)
	}
	from, to := io.Pipe()
	var writing errgroup.Group
	writing.Go(func() error {
		err := write(to)
		return errors.Join(err, to.CloseWithError(err)) // a writer that fails leaves no object
	})
	if err = upload.Put(ctx, api, bucket, name, from); err != nil {
		err = fmt.Errorf("write the backup: %w", err)
	}
	_ = from.CloseWithError(err) // so that the writer ends; a pipe closes always
	if wrote := writing.Wait(); err == nil {
		err = wrote
	}
	return err
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
