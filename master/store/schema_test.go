package store_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/master/store/storetest"
)

func edit(t *testing.T, path string, queries ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	for _, q := range queries {
		if _, err := db.ExecContext(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
}

func TestNewerSchemaIsRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	closeStore(t, storetest.Open(t, store.Config{Path: path}))
	edit(t, path, "INSERT INTO schema_version (version_id, is_applied) VALUES (99, 1)")
	_, err := store.Open(t.Context(), store.Config{Path: path})
	newer, is := errors.AsType[*store.SchemaError](err)
	if !is || newer.Have != 99 || !errors.Is(err, store.ErrNewerSchema) || !strings.Contains(err.Error(), "newer one") {
		t.Fatalf("got %v, want a refusal that names version 99 and what to do", err)
	}
}

func TestStoreIsPrivate(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	s := storetest.Open(t, store.Config{Path: path})
	put(t, s, store.Doc[fruit]{ID: "a"})
	for _, name := range []string{path, path + "-wal", path + ".lock"} {
		info, err := os.Stat(name)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: got %v error %v, want 0600", filepath.Base(name), info.Mode(), err)
		}
	}
}

// The epoch is proved in every commit even where the lock file has been got around.
func TestFencedWithoutTheLock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	s := storetest.Open(t, store.Config{Path: path})
	put(t, s, store.Doc[fruit]{ID: "a"})
	edit(t, path, "UPDATE lease SET epoch = epoch + 1")
	err := s.Write(context.WithoutCancel(t.Context()), func(tx *store.Tx) error { return fruits.Delete(tx, "a") })
	if !errors.Is(err, store.ErrFenced) {
		t.Fatalf("got %v, want ErrFenced", err)
	}
	if got := ids(t)(fruits.All(t.Context(), s)); got != "a" {
		t.Fatalf("got %q: a fenced master has written", got)
	}
}

func TestConfigIsRefused(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]store.Config{
		"nothing": {}, "both": {Path: "x", URL: "postgres://"}, "negative": {Path: "x", LeaseTTL: -1},
		"read-only and missing": {Path: filepath.Join(t.TempDir(), "none.db"), ReadOnly: true},
	} {
		if _, err := store.Open(t.Context(), cfg); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}
