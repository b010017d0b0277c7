package store

import (
	"context"
	"database/sql"
	"errors"
)

var errTxOver = errors.New("this transaction has ended; use tx only inside the function that received it")

// Tx is one write inside a group. It is valid only until the function that received it returns, and
// only in that function's goroutine.
type Tx struct {
	// ctx is the context of the group and not of the caller, because a caller that cancels must not
	// interrupt the writes of others.
	ctx context.Context
	w   *writer
	r   *request
	err error // the first failed statement, after which the write cannot succeed
	// changed reports whether a statement that may change rows was executed.
	changed bool
	over    bool
}

// OnEnd calls fn with the result of this write before the caller receives it: nil if the write is
// durable. It keeps state in memory consistent with the store. fn runs in the writer's goroutine, so
// that it must return quickly and must not write.
func (tx *Tx) OnEnd(fn func(error)) { tx.r.ended = append(tx.r.ended, fn) }

func (tx *Tx) execQuery(query string, args ...any) error {
	_, err := tx.changeRows(query, args...)
	return err
}

func (tx *Tx) changeRows(query string, args ...any) (rows int64, err error) {
	if err := tx.checkUsable(); err != nil {
		return 0, err
	}
	rows, err = tx.w.changeRows(tx.ctx, query, args...)
	if err != nil {
		tx.err = err
		return 0, tx.w.classifyError(tx.ctx, err)
	}
	tx.changed = true
	tx.w.counts.statements.Add(1)
	tx.w.changedBytes += sizeOf(args)
	return rows, nil
}

// sizeOf estimates the size of values in bytes.
func sizeOf(args []any) (n int) {
	for _, a := range args {
		switch v := a.(type) {
		case []byte:
			n += len(v)
		case string:
			n += len(v)
		}
	}
	return n
}

func (tx *Tx) checkUsable() error {
	if tx.over {
		return errTxOver
	}
	return tx.err
}

// queryRows implements Reader. It sees the changes of this and earlier writes of the group.
func (tx *Tx) queryRows(_ context.Context, query string, args []any, scan func(*sql.Rows) error) error {
	if err := tx.checkUsable(); err != nil {
		return err
	}
	rows, err := tx.w.queryRows(tx.ctx, query, args...) //nolint:contextcheck // the group's context, see Tx
	if err == nil {
		err = scanAll(rows, scan)
	}
	if err != nil {
		tx.err = err
		return tx.w.classifyError(tx.ctx, err) //nolint:contextcheck // the group's context, see Tx
	}
	return nil
}

// Reader reads documents and logs. A Store returns durable data, a Tx also the changes of its group.
// Both return complete results and hold no lock afterwards.
type Reader interface {
	queryRows(ctx context.Context, query string, args []any, scan func(*sql.Rows) error) error
}

var (
	_ Reader = (*Store)(nil)
	_ Reader = (*Tx)(nil)
)

// queryRows implements Reader on the read pool.
func (s *Store) queryRows(ctx context.Context, query string, args []any, scan func(*sql.Rows) error) error {
	rows, err := s.startQuery(ctx, query, args)
	if err == nil {
		err = scanAll(rows, scan)
	}
	return s.db.ClassifyError(ctx, err)
}

func (s *Store) startQuery(ctx context.Context, query string, args []any) (*sql.Rows, error) {
	if s.db.Compiles {
		st, err := s.compiled.find(ctx, s.db.Read, query)
		if err != nil {
			return nil, err
		}
		if st != nil {
			return st.QueryContext(ctx, args...)
		}
	}
	return s.db.Read.QueryContext(ctx, s.db.RewriteQuery(query), args...)
}

func scanAll(rows *sql.Rows, scan func(*sql.Rows) error) error {
	for rows.Next() {
		if err := scan(rows); err != nil {
			return errors.Join(err, rows.Close())
		}
	}
	return errors.Join(rows.Err(), rows.Close())
}
