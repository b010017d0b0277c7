package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/det-deploy/det-deploy/master/store/archive"
)

// ErrNotEmpty is returned by Restore if the target contains data.
var ErrNotEmpty = errors.New("the target store is not empty; give a new path or an empty database")

// Restore loads a backup into an empty store, which it creates if it is missing, and preserves the
// cluster ID. After an error, such as [archive.ErrDamaged], the target is still empty and Restore
// may be repeated.
func Restore(ctx context.Context, r io.Reader, into Config) error {
	if err := restoreBackup(ctx, r, into); err != nil {
		return fmt.Errorf("restore the store: %w", err)
	}
	return nil
}

func restoreBackup(ctx context.Context, r io.Reader, into Config) (err error) {
	f, head, err := archive.Open(r)
	if err != nil {
		return err
	}
	know, err := schemaKnown()
	if err != nil {
		return err
	}
	if head.Schema > know {
		return &SchemaError{Have: head.Schema, Know: know}
	}
	if into.ReadOnly {
		return ErrReadOnly
	}
	s, err := Open(ctx, into)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if _, err := s.Acquire(ctx, "restore"); err != nil {
		return err
	}
	return s.enqueueRequest(ctx, &request{ctx: ctx, raw: func(ctx context.Context, w *writer) error {
		return w.loadBackup(ctx, f, head)
	}})
}

// loadBackup loads everything in one transaction, so that a truncated file changes nothing.
func (w *writer) loadBackup(ctx context.Context, f *archive.Reader, head archive.Header) error {
	if err := w.beginTransaction(ctx); err != nil {
		return err
	}
	row, err := w.lockLease(ctx)
	if err != nil {
		return err
	}
	if row.epoch != w.lease.Epoch {
		w.lease.markLost()
		return ErrFenced
	}
	for _, t := range archive.Tables(head.Schema) {
		if err := w.mustBeEmpty(ctx, t); err != nil {
			return err
		}
	}
	if err := w.loadRows(ctx, f); err != nil {
		return err
	}
	for name, value := range map[string]string{
		metaCluster: head.ClusterID, metaCreated: head.CreatedAt.UTC().Format(time.RFC3339Nano),
	} {
		if _, err := w.changeRows(ctx, "UPDATE meta SET value = ? WHERE name = ?", value, name); err != nil {
			return err
		}
	}
	if err := w.execQuery(ctx, "COMMIT"); err != nil {
		return err
	}
	w.opened = false
	return nil
}

func (w *writer) mustBeEmpty(ctx context.Context, t archive.Table) error {
	rows, err := w.queryRows(ctx, "SELECT 1 FROM "+t.Name+" LIMIT 1")
	if err != nil {
		return err
	}
	full := false
	err = scanAll(rows, func(*sql.Rows) error {
		full = true
		return nil
	})
	if err == nil && full {
		err = ErrNotEmpty
	}
	return err
}

func (w *writer) loadRows(ctx context.Context, f *archive.Reader) error {
	return f.ReadRows(func(t archive.Table, fields []archive.Field) error {
		if _, err := w.changeRows(ctx, insertQuery(t), t.Values(fields)...); err != nil {
			return fmt.Errorf("write %s: %w", t.Name, err)
		}
		return nil
	})
}

func insertQuery(t archive.Table) string {
	return "INSERT INTO " + t.Name + " (" + t.ColumnNames() + ") VALUES (?" + strings.Repeat(", ?", len(t.Columns)-1) + ")"
}
