package wire

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"path/filepath"
	"strconv"

	"github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/store"
)

// databaseFile is the embedded database's name in the data directory.
const databaseFile = "master.db"

// storeConfig says where the store of cfg is, with its secrets resolved.
func storeConfig(ctx context.Context, cfg config.Master, log *slog.Logger) (store.Config, error) {
	if cfg.DB.Kind() == config.DBEmbedded {
		return store.Config{Path: filepath.Join(cfg.DataDir, databaseFile), Log: log}, nil
	}
	address, err := databaseURL(ctx, cfg.DB)
	return store.Config{URL: address, Log: log}, err
}

func databaseURL(ctx context.Context, db config.DB) (store.URL, error) {
	if !db.URL.IsZero() {
		v, err := resolver().Resolve(ctx, db.URL)
		if err != nil {
			return "", fmt.Errorf("db.url: %w", err)
		}
		return store.URL(v.Reveal()), nil
	}
	password, err := resolver().Resolve(ctx, db.Password)
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

// withStore opens the store of cfg beside the master that owns it, for as long
// as fn runs.
func withStore(ctx context.Context, cfg config.Master, log *slog.Logger, fn func(*store.Store) error) error {
	sc, err := storeConfig(ctx, cfg, log)
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
