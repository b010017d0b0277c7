package master

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/store"
)

const (
	// databaseFile is the embedded database's name in the data directory.
	databaseFile = "master.db"
	// databaseTimeout is how long a master that starts waits for a database that does
	// not answer: one that the same chart starts beside it has an image to be pulled.
	databaseTimeout = 2 * time.Minute
	// databaseRetry is how often it tries.
	databaseRetry = time.Second
)

// openStore opens the store for writing and takes its lease. The lease's owner is the
// installation, so that a master that was killed takes over from itself at once.
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
			log.Warn("wait for the database", "err", err)
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

// storeConfig is where the store is, with its secrets resolved.
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
		port = 5432 // PostgreSQL's own
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

// withStore opens the store beside the master that owns it, for as long as fn runs.
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
