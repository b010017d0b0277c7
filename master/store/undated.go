package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
)

// What a start reads has many documents: they are decoded where they are kept, without a list of them.

// EachUndated reads the documents without a time, in no order, each to where place says.
func (c Collection[T]) EachUndated(ctx context.Context, r Reader, place func(id string) *T) error {
	return c.readEach(ctx, r, place, "SELECT id, doc FROM documents WHERE kind = ? AND at = 0", c.Kind)
}

// EachOfUndated reads the documents whose parents are the documents of another kind without a time, in
// no order, each to where place says.
func (c Collection[T]) EachOfUndated(ctx context.Context, r Reader, kind string, place func(parent string) *T) error {
	// SQLite takes the tables of a cross join in their order: the parents are fewer.
	return c.readEach(ctx, r, place, "SELECT a.parent, a.doc FROM documents t CROSS JOIN documents a "+
		"WHERE t.kind = ? AND t.at = 0 AND a.kind = ? AND a.parent = t.id", kind, c.Kind)
}

func (c Collection[T]) readEach(ctx context.Context, r Reader, place func(key string) *T, query string, args ...any) error {
	var bad error
	err := r.queryRows(ctx, query, args, func(rows *sql.Rows) error {
		var key string
		var b sql.RawBytes
		if err := rows.Scan(&key, &b); err != nil {
			return err
		}
		// See readDocuments.
		if err := json.Unmarshal(b, place(key)); err != nil && bad == nil {
			bad = fmt.Errorf("read document %s %q: it is not what this program writes: %w", c.Kind, key, err)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("read documents %s: %w", c.Kind, err)
	}
	return bad
}
