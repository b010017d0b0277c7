package master

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/store"
)

const (
	// databaseFile is the name of the embedded database in the data directory.
	databaseFile = "master.db"
	// databaseTimeout is how long a starting master waits for its database. If the same chart
	// starts the database, its image may have to be pulled.
	databaseTimeout = 2 * time.Minute
	// databaseRetry is the interval between attempts.
	databaseRetry = time.Second
)

// openStore opens the store for writing and takes its lease. The owner of the lease is the
// installation, so that a master that was killed can take over at once.
func (d *deps) openStore(ctx context.Context) error {
	sc, err := storeConfig(ctx, d.parts, d.log)
	if err != nil {
		return err
	}
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	dir, err := filepath.Abs(d.parts.Config.DataDir)
	if err != nil {
		return err
	}
	s, err := waitForStore(ctx, sc, d.log)
	if err != nil {
		return err
	}
	lease, err := s.Acquire(ctx, host+":"+dir)
	if err != nil {
		return errors.Join(err, s.Close())
	}
	d.useStore(s, lease)
	return nil
}

// waitForStore opens a store whose server may still be starting.
func waitForStore(ctx context.Context, sc store.Config, log *slog.Logger) (*store.Store, error) {
	limit := time.NewTimer(databaseTimeout)
	defer limit.Stop()
	retry := time.NewTicker(databaseRetry)
	defer retry.Stop()
	for logged := false; ; logged = true {
		s, err := store.Open(ctx, sc)
		if !errors.Is(err, store.ErrUnavailable) {
			return s, err
		}
		if !logged {
			log.Warn("waiting for the database", "err", err)
		}
		select {
		case <-retry.C:
		case <-limit.C:
			return nil, err
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// storeConfig returns the location of the store, with resolved secrets.
func storeConfig(ctx context.Context, p Parts, log *slog.Logger) (store.Config, error) {
	if p.Config.DB.Kind() == config.DBEmbedded {
		return store.Config{Path: filepath.Join(p.Config.DataDir, databaseFile), Log: log}, nil
	}
	address, err := databaseURL(ctx, p.Config.DB, p.Secrets)
	return store.Config{URL: address, Log: log}, err
}

func databaseURL(ctx context.Context, db config.DB, secrets secret.Resolver) (store.URL, error) {
	if !db.URL.IsZero() {
		v, err := secrets.Resolve(ctx, db.URL)
		if err != nil {
			return "", fmt.Errorf("db.url: %w", err)
		}
		return store.URL(v.Reveal()), nil
	}
	password, err := secrets.Resolve(ctx, db.Password)
	if err != nil {
		return "", fmt.Errorf("db.password: %w", err)
	}
	port, ok := db.Port.Number()
	if !ok {
		port = 5432 // the default of PostgreSQL
	}
	query := url.Values{"sslmode": {db.SSLMode}}
	if db.SSLRootCert != "" {
		query.Set("sslrootcert", db.SSLRootCert)
	}
	u := url.URL{
		Scheme: "postgres", User: url.UserPassword(db.User, password.Reveal()),
		Host: net.JoinHostPort(db.Host, strconv.Itoa(port)), Path: "/" + db.Name, RawQuery: query.Encode(),
	}
	return store.URL(u.String()), nil
}

// withStore opens the store for fn without taking its lease, while a master may be running.
func withStore(ctx context.Context, p Parts, log *slog.Logger, fn func(*store.Store) error) error {
	sc, err := storeConfig(ctx, p, log)
	if err != nil {
		return err
	}
	sc.ReadOnly = true
	s, err := store.Open(ctx, sc)
	if err != nil {
		return err
	}
	return errors.Join(fn(s), s.Close())
}

// Backup writes the store to a new file or object, and returns its size in bytes. A dry run reads
// everything and writes nothing. If it fails, it leaves no file or object.
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

// uploadBackup uploads the output of write.
func uploadBackup(ctx context.Context, upload Upload, url string, write func(io.Writer) error) error {
	from, to := io.Pipe()
	var writing errgroup.Group
	writing.Go(func() error {
		err := write(to)
		return errors.Join(err, to.CloseWithError(err)) // a failed writer leaves no object
	})
	err := upload(ctx, url, from)
	if err != nil {
		err = fmt.Errorf("write the backup: %w", err)
	}
	_ = from.CloseWithError(err) // so that the writer ends; closing a pipe never fails
	if wrote := writing.Wait(); err == nil {
		err = wrote
	}
	return err
}

// writeBackup writes a new file and syncs it. If it fails, it leaves no file.
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

// counter counts the bytes written to it.
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
