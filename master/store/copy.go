package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/det-deploy/det-deploy/master/store/database"
)

// Copy writes one moment of the store of from into a new SQLite file at path, and
// changes nothing in from: a program that does not know yet whether it can read
// the store tries it on the copy. Found is false, and there is no file, when from
// has not been made yet.
//
// A SQLite file is copied with the schema it has. A PostgreSQL database is copied
// row by row into the schema of this program; a migration may add tables, and one that
// changes or removes one must say here how its rows are carried over.
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

// copyFile copies a file, and returns the schema that it has.
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
		_ = w.CloseWithError(err) // the reader is told; a pipe's end cannot fail
	}()
	err = Restore(ctx, r, Config{Path: path, Log: from.Log})
	_ = r.CloseWithError(err) // frees a writer whose reader gave up
	return s.meta.Schema, errors.Join(err, <-done)
}
