package store

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// ErrNotEmpty is returned by Restore for a store that holds something.
var ErrNotEmpty = errors.New("the target store is not empty; give a new path or an empty database")

// Restore loads a backup into an empty store, which it creates where there is none,
// and keeps the cluster's id. It is all or nothing: after an error, ErrDamaged among
// them, the target is as empty as it was and Restore may be called again.
func Restore(ctx context.Context, r io.Reader, into Config) error {
	if err := restoreBackup(ctx, r, into); err != nil {
		return fmt.Errorf("restore the store: %w", err)
	}
	return nil
}

func restoreBackup(ctx context.Context, r io.Reader, into Config) (err error) {
	f, head, err := openBackup(r)
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

// openBackup reads as far as the header.
func openBackup(r io.Reader) (*frameReader, backupHeader, error) {
	var head backupHeader
	buffered := bufio.NewReaderSize(r, 1<<20)
	magic := make([]byte, len(backupMagic))
	if _, err := io.ReadFull(buffered, magic); err != nil || string(magic) != backupMagic {
		return nil, head, damagedError(err, "no first line %q", strings.TrimSpace(backupMagic))
	}
	zip, err := gzip.NewReader(buffered)
	if err != nil {
		return nil, head, damagedError(err, "no gzip stream")
	}
	f := newFrameReader(zip)
	b, err := f.readBytes()
	if err != nil {
		return nil, head, damagedError(err, "no header")
	}
	err = json.Unmarshal(b, &head)
	if err != nil || head.Schema < 1 || head.ClusterID == "" || checkText("cluster id", head.ClusterID) != nil {
		return nil, head, damagedError(err, "a header that is not one")
	}
	return f, head, nil
}

// loadBackup does it all in one transaction, so that a file which turns out to be cut off
// at its end has changed nothing.
func (w *writer) loadBackup(ctx context.Context, f *frameReader, head backupHeader) error {
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
	for _, t := range backupTables() {
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

func (w *writer) mustBeEmpty(ctx context.Context, t table) error {
	rows, err := w.queryRows(ctx, "SELECT 1 FROM "+t.name+" LIMIT 1")
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

func (w *writer) loadRows(ctx context.Context, f *frameReader) error {
	return f.readRows(func(t table, fields []field) error {
		if _, err := w.changeRows(ctx, t.insertQuery(), t.rowValues(fields)...); err != nil {
			return fmt.Errorf("write %s: %w", t.name, err)
		}
		return nil
	})
}

// readRows reads to the end and proves that it is the end. When a row is refused it
// still reads on: a changed byte may make two rows the same, and then the file, not
// the database, is what is wrong.
func (f *frameReader) readRows(each func(table, []field) error) error {
	var refused error
	tables := backupTables()
	for n := uint64(0); ; n++ {
		number, err := f.ReadByte()
		switch {
		case err != nil:
			return damagedError(err, "no end")
		case number == 0:
			return cmp.Or(f.checkEnd(n), refused)
		case int(number) > len(tables):
			return damagedError(nil, "a table %d that is unknown", number)
		}
		t := tables[number-1]
		fields, err := f.readFields(t)
		if err != nil {
			return err
		}
		if refused == nil {
			refused = each(t, fields)
		}
	}
}

func (t table) insertQuery() string {
	return "INSERT INTO " + t.name + " (" + t.columnNames() + ") VALUES (?" + strings.Repeat(", ?", len(t.columns)-1) + ")"
}

func (t table) rowValues(fields []field) []any {
	values := make([]any, len(fields))
	for i, c := range t.columns {
		switch c.kind {
		case columnInt:
			values[i] = fields[i].number
		case columnText:
			values[i] = string(fields[i].bytes)
		default:
			if fields[i].bytes == nil {
				fields[i].bytes = []byte{} // empty, not NULL
			}
			values[i] = fields[i].bytes
		}
	}
	return values
}
