package store_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/test/postgrestest"
	"github.com/det-deploy/det-deploy/test/storetest"
)

func edit(t *testing.T, path string, queries ...string) {
	t.Helper()
	editIn(t, "sqlite", path, queries...)
}

func editIn(t *testing.T, driver, address string, queries ...string) {
	t.Helper()
	db, err := sql.Open(driver, address)
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
		t.Fatalf("got %v, want an error with version 99 and what to do", err)
	}
}

// currentSchema is the newest schema version.
const currentSchema = 7

// older are the statements that convert a store to the form from before schema 2.
var older = []string{
	"DROP TABLE metrics", "DROP TABLE task_rows", "DROP TABLE task_groups", "DROP TABLE user_bytes", "DROP TABLE blobs", "DROP TABLE blob_refs",
	"DROP TABLE task_ends", "DROP TABLE task_labels", "DELETE FROM schema_version WHERE version_id >= 2",
}

// Trying, backing up and starting a new version on the store of an older one preserves all data and
// adds the rest.
func TestOlderStoreIsMigrated(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, copied, restored := filepath.Join(dir, "store.db"), filepath.Join(dir, "copy.db"), filepath.Join(dir, "restored.db")
	s := storetest.Open(t, store.Config{Path: path})
	put(t, s, store.Doc[fruit]{ID: "a"})
	closeStore(t, s)
	edit(t, path, older...)
	if schema, found, err := store.Copy(t.Context(), store.Config{Path: path}, copied); err != nil || !found || schema != 1 {
		t.Fatalf("copy: got version %d, found %t and %v, want version 1", schema, found, err)
	}
	restoreFrom(t, store.Config{Path: path, ReadOnly: true}, restored)
	for _, of := range []string{copied, restored, path} {
		wantCurrent(t, of)
	}
}

// A column is not part of the backups of stores that do not have it yet.
func TestTasksOfAnOlderStoreAreCommands(t *testing.T) {
	t.Parallel()
	path, restored := filepath.Join(t.TempDir(), "store.db"), filepath.Join(t.TempDir(), "restored.db")
	s := storetest.Open(t, store.Config{Path: path})
	writeRows(t, s, func(tx *store.Tx) error {
		_, err := store.AddTaskRow(tx, store.TaskRow{ID: "t", UserID: 3, Username: "ada"})
		return err
	})
	closeStore(t, s)
	edit(t, path, "DROP INDEX task_groups_key", "ALTER TABLE task_groups DROP COLUMN kind",
		"CREATE UNIQUE INDEX task_groups_key ON task_groups (user_id, workspace, username)", "DELETE FROM schema_version WHERE version_id >= 7")
	restoreFrom(t, store.Config{Path: path, ReadOnly: true}, restored)
	for _, of := range []string{restored, path} {
		s := storetest.Open(t, store.Config{Path: of})
		groups, err := store.TaskGroups(t.Context(), s)
		if want := []store.TaskGroup{{ID: 1, UserID: 3, Username: "ada", Tasks: 1}}; err != nil || !slices.Equal(groups, want) {
			t.Errorf("%s: got %+v and %v, want %+v", filepath.Base(of), groups, err, want)
		}
	}
}

func TestOlderPostgresIsMigrated(t *testing.T) {
	t.Parallel()
	cfg := store.Config{URL: store.URL(postgrestest.Start(t, postgrestest.Options{}).URL())}
	s := storetest.Open(t, cfg)
	put(t, s, store.Doc[fruit]{ID: "a"})
	closeStore(t, s)
	editIn(t, "pgx", string(cfg.URL), older...)
	copied := filepath.Join(t.TempDir(), "copy.db")
	if schema, found, err := store.Copy(t.Context(), cfg, copied); err != nil || !found || schema != 1 {
		t.Fatalf("copy: got version %d, found %t and %v, want version 1", schema, found, err)
	}
	wantCurrent(t, copied)
	if s := storetest.Open(t, cfg); s.Meta().Schema != currentSchema || ids(t)(fruits.All(t.Context(), s)) != "a" {
		t.Errorf("got schema %d, want the store brought to %d with what it had", s.Meta().Schema, currentSchema)
	}
}

func restoreFrom(t *testing.T, from store.Config, path string) {
	t.Helper()
	s, err := store.Open(t.Context(), from)
	if err != nil {
		t.Fatal(err)
	}
	defer closeStore(t, s)
	var file bytes.Buffer
	if err := s.Backup(t.Context(), &file); err != nil {
		t.Fatal(err)
	}
	if err := store.Restore(t.Context(), &file, store.Config{Path: path}); err != nil {
		t.Fatal(err)
	}
}

func wantCurrent(t *testing.T, path string) {
	t.Helper()
	s := storetest.Open(t, store.Config{Path: path})
	if got := ids(t)(fruits.All(t.Context(), s)); got != "a" || s.Meta().Schema != currentSchema {
		t.Errorf("%s: got %q in schema %d, want a in %d", filepath.Base(path), got, s.Meta().Schema, currentSchema)
	}
	if err := s.Write(t.Context(), func(tx *store.Tx) error {
		return store.PutMetric(tx, store.MetricRow{Trial: 1, Group: "training", Run: 1, Doc: []byte("{}")})
	}); err != nil {
		t.Errorf("%s: %v", filepath.Base(path), err)
	}
	if all, _, err := store.CountBlobs(t.Context(), s); err != nil || all != 0 {
		t.Errorf("%s: got %d blobs and %v, want the table", filepath.Base(path), all, err)
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

// The epoch is verified in every commit even if the lock file was bypassed.
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
