package store_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/test/postgrestest"
	"github.com/det-deploy/det-deploy/test/storetest"
)

// A new version reads a copy while the original store stays unchanged, with its master running or
// killed.
func TestCopyChangesNothing(t *testing.T) {
	t.Parallel()
	for _, alive := range []bool{true, false} {
		dir := t.TempDir()
		path, to := filepath.Join(dir, "store.db"), filepath.Join(dir, "copy", "store.db")
		s := storetest.Open(t, store.Config{Path: path})
		put(t, s, store.Doc[fruit]{ID: "a"})
		if !alive {
			closeStore(t, s)
		}
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		schema, found, err := store.Copy(t.Context(), store.Config{Path: path}, to)
		if err != nil || !found || schema != currentSchema {
			t.Fatalf("alive %t: got version %d, found %t and %v, want the newest version and a copy", alive, schema, found, err)
		}
		if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
			t.Errorf("alive %t: the store's file has changed (%v)", alive, err)
		}
		if info, err := os.Stat(to); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("alive %t: got the copy as %v and %v, want it private", alive, info, err)
		}
		c := storetest.Open(t, store.Config{Path: to})
		if got := ids(t)(fruits.All(t.Context(), c)); got != "a" {
			t.Errorf("alive %t: the copy holds %q, want a", alive, got)
		}
		if alive {
			put(t, s, store.Doc[fruit]{ID: "b"})
		}
		if got := ids(t)(fruits.All(t.Context(), c)); got != "a" {
			t.Errorf("alive %t: the copy holds %q after a write to the store, want a", alive, got)
		}
	}
}

func TestCopyOfMissingStore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, found, err := store.Copy(context.WithoutCancel(t.Context()), store.Config{Path: filepath.Join(dir, "none.db")}, filepath.Join(dir, "copy.db"))
	if err != nil || found {
		t.Errorf("got found %t and %v, want that there is nothing", found, err)
	}
	if names, err := os.ReadDir(dir); err != nil || len(names) != 0 {
		t.Errorf("got %v and %v, want an empty directory", names, err)
	}
}

// A PostgreSQL database is copied to SQLite with the same rows.
func TestCopyOfPostgres(t *testing.T) {
	t.Parallel()
	from := store.Config{URL: store.URL(postgrestest.Start(t, postgrestest.Options{}).URL())}
	s := storetest.Open(t, from)
	put(t, s, store.Doc[fruit]{ID: "a"})
	to := filepath.Join(t.TempDir(), "copy", "store.db")
	schema, found, err := store.Copy(t.Context(), from, to)
	if err != nil || !found || schema != currentSchema {
		t.Fatalf("got version %d, found %t and %v, want the newest version and a copy", schema, found, err)
	}
	put(t, s, store.Doc[fruit]{ID: "b"})
	c := storetest.Open(t, store.Config{Path: to})
	if got := ids(t)(fruits.All(t.Context(), c)); got != "a" || c.Meta().ClusterID != s.Meta().ClusterID {
		t.Errorf("the copy holds %q of cluster %s, want a of %s", got, c.Meta().ClusterID, s.Meta().ClusterID)
	}
}
