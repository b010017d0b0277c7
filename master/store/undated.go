package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
)

// At its start the master reads many documents. They are decoded in place, without a list of
// documents.

// EachUndated reads the documents without a time, in no particular order, and decodes each into the
// value that place returns.
func (c Collection[T]) EachUndated(ctx context.Context, r Reader, place func(id string) *T) error {
	return c.readEach(ctx, r, place, "SELECT id, doc FROM documents WHERE kind = ? AND at = 0", c.Kind)
}

// scanCost is the number of documents that can be scanned in the time for one lookup by parent.
const scanCost = 4

// EachOfUndated reads the documents whose parents are the documents of another kind without a time,
// in no particular order, and decodes each into the value that place returns; parents is the number
// of parents. It may also read documents of other parents, for which place must return nil.
func (c Collection[T]) EachOfUndated(ctx context.Context, r Reader, kind string, parents int, place func(parent string) *T) error {
	most, all := scanCost*parents, 0
	err := r.queryRows(ctx, "SELECT COUNT(*) FROM (SELECT 1 FROM documents WHERE kind = ? LIMIT ?) AS found", []any{c.Kind, most + 1},
		func(rows *sql.Rows) error { return rows.Scan(&all) })
	switch {
	case err != nil:
		return fmt.Errorf("count documents %s: %w", c.Kind, err)
	case all <= most:
		// Ordered by time, because documents are stored in that order.
		return c.readEach(ctx, r, place, "SELECT parent, doc FROM documents WHERE kind = ? ORDER BY at", c.Kind)
	}
	// SQLite joins the tables of a cross join in the given order. The parents are fewer.
	return c.readEach(ctx, r, place, "SELECT a.parent, a.doc FROM documents t CROSS JOIN documents a "+
		"WHERE t.kind = ? AND t.at = 0 AND a.kind = ? AND a.parent = t.id", kind, c.Kind)
}

func (c Collection[T]) readEach(ctx context.Context, r Reader, place func(key string) *T, query string, args ...any) error {
	var bad error
	like := new(T)
	err := r.queryRows(ctx, query, args, func(rows *sql.Rows) error {
		var key string
		var b sql.RawBytes
		if err := rows.Scan(&key, &b); err != nil {
			return err
		}
		value := place(key)
		if value == nil {
			return nil
		}
		// See readDocuments.
		if err := decodeLike(b, value, like); err != nil && bad == nil {
			bad = fmt.Errorf("read document %s %q: invalid encoding: %w", c.Kind, key, err)
		}
		like = value
		return nil
	})
	if err != nil {
		return fmt.Errorf("read documents %s: %w", c.Kind, err)
	}
	return bad
}

// decodeLike decodes a document with its own method if it has one, which may share parts with like.
func decodeLike[T any](b []byte, value, like *T) error {
	if v, found := any(value).(interface {
		DecodeLike(data []byte, like *T) bool
	}); found && v.DecodeLike(b, like) {
		return nil
	}
	return json.Unmarshal(b, value)
}
