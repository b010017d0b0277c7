package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/det-deploy/det-deploy/master/store/database"
)

// Copy writes a consistent snapshot of a store to a new SQLite file at path without changing the
// store, so that a new version can check whether it can read the store. If the store does not exist,
// found is false and no file is created.
//
// A SQLite file is copied with its schema. A PostgreSQL database is copied row by row into the
// schema of this version; a migration may add tables, but one that changes or removes tables must
// convert their rows here.
func Copy(ctx context.Context, from Config, path string) (schema int64, found bool, err error) {
	from.ReadOnly = true
	if from.URL != "" {
		schema, err = copyRows(ctx, from, path)
		return schema, err == nil, err
	}
	if _, err := os.Stat(from.Path); errors.Is(err, os.ErrNotExist) {
		return 0, false, nil
	}
	schema, err = copyFile(ctx, from, path)
	return schema, err == nil, err
}

// copyFile copies a SQLite file and returns its schema version.
func copyFile(ctx context.Context, from Config, path string) (schema int64, err error) {
	s := &Store{cfg: from.withDefaults()}
	if s.db, err = database.OpenToCopy(from.Path); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.db.Close()) }()
	if schema, err = s.schemaHave(ctx); err != nil {
		return 0, err
	}
	return schema, s.db.CopyTo(ctx, path)
}

func copyRows(ctx context.Context, from Config, path string) (schema int64, err error) {
	s, err := Open(ctx, from)
	if err != nil {
		return 0, fmt.Errorf("copy the store: %w", err)
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	r, w := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := s.Backup(ctx, w)
		done <- err
		_ = w.CloseWithError(err) // notifies the reader; always returns nil
	}()
	err = Restore(ctx, r, Config{Path: path, Log: from.Log})
	_ = r.CloseWithError(err) // unblocks the writer if Restore has stopped reading
	return s.meta.Schema, errors.Join(err, <-done)
}
