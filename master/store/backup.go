package store

import (
	"bufio"
	"compress/gzip"
	"context"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// Backup writes one moment of the store to w, while the master keeps writing. The
// result restores into either database. It holds password hashes and session keys:
// keep it as you keep the store.
func (s *Store) Backup(ctx context.Context, w io.Writer) error {
	if err := s.writeBackup(ctx, w); err != nil {
		return fmt.Errorf("back up the store: %w", s.dialect.classifyError(ctx, err))
	}
	return nil
}

func (s *Store) writeBackup(ctx context.Context, w io.Writer) (err error) {
	conn, err := s.pools.read.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if _, err := conn.ExecContext(ctx, s.dialect.snapshot); err != nil {
		return err
	}
	defer func() {
		_, end := conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
		if err == nil {
			err = end
		}
	}()
	if _, err := io.WriteString(w, backupMagic); err != nil {
		return err
	}
	buffered := bufio.NewWriterSize(w, 1<<20)
	zip, err := gzip.NewWriterLevel(buffered, gzip.BestSpeed)
	if err != nil {
		return err
	}
	if err := s.backupRows(ctx, conn, newFrameWriter(zip)); err != nil {
		return err
	}
	return errors.Join(zip.Close(), buffered.Flush())
}

func (s *Store) backupRows(ctx context.Context, conn *sql.Conn, f *frameWriter) error {
	head, err := json.Marshal(backupHeader{
		Schema: s.meta.Schema, ClusterID: s.meta.ClusterID, CreatedAt: s.meta.CreatedAt, MadeAt: time.Now().UTC(),
	})
	if err != nil {
		return err
	}
	f.writeBytes(head)
	f.flushFrame()
	var rows uint64
	for i, t := range backupTables() {
		n, err := backupTable(ctx, conn, f, i+1, t)
		if err != nil {
			return fmt.Errorf("read %s: %w", t.name, err)
		}
		rows += n
	}
	f.buf = binary.AppendUvarint(append(f.buf, 0), rows)
	f.flushFrame()
	f.buf = f.hash.Sum(f.buf)
	f.flushFrame()
	return f.err
}

func backupTable(ctx context.Context, conn *sql.Conn, f *frameWriter, number int, t table) (n uint64, err error) {
	rows, err := conn.QueryContext(ctx, "SELECT "+t.columnNames()+" FROM "+t.name)
	if err != nil {
		return 0, err
	}
	fields := make([]field, len(t.columns))
	into := make([]any, len(t.columns))
	for i, c := range t.columns {
		if into[i] = &fields[i].bytes; c.kind == columnInt {
			into[i] = &fields[i].number
		}
	}
	err = scanAll(rows, func(r *sql.Rows) error {
		if err := r.Scan(into...); err != nil {
			return err
		}
		f.writeRow(number, t, fields)
		n++
		return f.err
	})
	return n, err
}

func (t table) columnNames() string {
	names := make([]string, len(t.columns))
	for i, c := range t.columns {
		names[i] = c.name
	}
	return strings.Join(names, ", ")
}
