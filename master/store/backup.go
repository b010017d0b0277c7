package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/det-deploy/det-deploy/master/store/archive"
)

// Backup writes a consistent snapshot of the store to w while the master continues to write. It can
// be restored into either database. It contains password hashes and session keys, so that it needs
// the same protection as the store.
func (s *Store) Backup(ctx context.Context, w io.Writer) error {
	if err := s.writeBackup(ctx, w); err != nil {
		return fmt.Errorf("back up the store: %w", s.db.ClassifyError(ctx, err))
	}
	return nil
}

func (s *Store) writeBackup(ctx context.Context, w io.Writer) (err error) {
	conn, err := s.db.Read.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if _, err := conn.ExecContext(ctx, s.db.Snapshot); err != nil {
		return err
	}
	defer func() {
		_, end := conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
		if err == nil {
			err = end
		}
	}()
	f, err := archive.NewWriter(w, archive.Header{
		Schema: s.meta.Schema, ClusterID: s.meta.ClusterID, CreatedAt: s.meta.CreatedAt, MadeAt: time.Now().UTC(),
	})
	if err != nil {
		return err
	}
	for i, t := range archive.Tables(s.meta.Schema) {
		if err := backupTable(ctx, conn, f, i+1, t); err != nil {
			return fmt.Errorf("read %s: %w", t.Name, err)
		}
	}
	return f.Close()
}

func backupTable(ctx context.Context, conn *sql.Conn, f *archive.Writer, number int, t archive.Table) error {
	rows, err := conn.QueryContext(ctx, "SELECT "+t.ColumnNames()+" FROM "+t.Name)
	if err != nil {
		return err
	}
	fields := make([]archive.Field, len(t.Columns))
	into := make([]any, len(t.Columns))
	for i, c := range t.Columns {
		if into[i] = &fields[i].Bytes; c.Type == archive.Int {
			into[i] = &fields[i].Number
		}
	}
	return scanAll(rows, func(r *sql.Rows) error {
		if err := r.Scan(into...); err != nil {
			return err
		}
		return f.WriteRow(number, t, fields)
	})
}
