package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/det-deploy/det-deploy/master/store/archive"
)

// Collection is the set of all documents of one kind, each a T encoded as JSON. It has no state and is
// declared next to the type that it stores:
//
//	var tasks = store.Collection[Record]{Kind: "task"}
type Collection[T any] struct {
	// Kind is the name of the collection, which must be unique in the store.
	Kind string
}

// Doc is one document with its keys.
type Doc[T any] struct {
	ID     string    // unique within the kind
	Parent string    // the key of ByParent; may be empty
	At     time.Time // the key of Before and After, in microseconds; may be zero
	Value  T
}

// Put writes a document and replaces an existing one with the same ID. It returns an error if a key
// is invalid or the value cannot be encoded.
func (c Collection[T]) Put(tx *Tx, id, parent string, at time.Time, value T) error {
	if err := errors.Join(checkKey("kind", c.Kind), checkKey("id", id), archive.CheckText("parent", parent)); err != nil {
		return fmt.Errorf("put document %s %q: %w", c.Kind, id, err)
	}
	b, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("put document %s %q: %w", c.Kind, id, err)
	}
	err = tx.execQuery("INSERT INTO documents (kind, id, parent, at, doc) VALUES (?, ?, ?, ?, ?) "+
		"ON CONFLICT (kind, id) DO UPDATE SET parent = excluded.parent, at = excluded.at, doc = excluded.doc",
		c.Kind, id, parent, toMicros(at), b)
	if err != nil {
		return fmt.Errorf("put document %s %q: %w", c.Kind, id, err)
	}
	return nil
}

// Replace writes the value of an existing document and keeps its parent and time. It is much cheaper
// than Put, because no index changes. It reports whether the document exists.
func (c Collection[T]) Replace(tx *Tx, id string, value T) (found bool, err error) {
	return c.replace(tx, id, value, "")
}

// ReplaceAt is Replace with a new time.
func (c Collection[T]) ReplaceAt(tx *Tx, id string, at time.Time, value T) (found bool, err error) {
	return c.replace(tx, id, value, ", at = ?", toMicros(at))
}

func (c Collection[T]) replace(tx *Tx, id string, value T, also string, args ...any) (found bool, err error) {
	b, err := json.Marshal(value)
	var n int64
	if err == nil {
		n, err = tx.changeRows("UPDATE documents SET doc = ?"+also+" WHERE kind = ? AND id = ?", append(append([]any{b}, args...), c.Kind, id)...)
	}
	if err != nil {
		return false, fmt.Errorf("replace document %s %q: %w", c.Kind, id, err)
	}
	return n > 0, nil
}

// putEach is the number of documents or task rows that one statement writes.
const putEach = 50

// PutAll writes many documents with unique IDs. It needs one round trip to the database for each
// putEach documents.
func (c Collection[T]) PutAll(tx *Tx, docs []Doc[T]) error {
	for some := range slices.Chunk(docs, putEach) {
		args := make([]any, 0, 5*len(some))
		for _, d := range some {
			b, err := json.Marshal(d.Value)
			if err := errors.Join(err, checkKey("kind", c.Kind), checkKey("id", d.ID), archive.CheckText("parent", d.Parent)); err != nil {
				return fmt.Errorf("put document %s %q: %w", c.Kind, d.ID, err)
			}
			args = append(args, c.Kind, d.ID, d.Parent, toMicros(d.At), b)
		}
		err := tx.execQuery("INSERT INTO documents (kind, id, parent, at, doc) VALUES "+valueRows(len(some), 5)+
			" ON CONFLICT (kind, id) DO UPDATE SET parent = excluded.parent, at = excluded.at, doc = excluded.doc", args...)
		if err != nil {
			return fmt.Errorf("put %d documents %s: %w", len(some), c.Kind, err)
		}
	}
	return nil
}

// valueRows returns placeholders for rows with the given number of columns: (?, ?), (?, ?).
func valueRows(rows, columns int) string {
	row := "(?" + strings.Repeat(", ?", columns-1) + ")"
	return row + strings.Repeat(", "+row, rows-1)
}

// Delete deletes a document. A missing document is not an error.
func (c Collection[T]) Delete(tx *Tx, id string) error {
	if err := tx.execQuery("DELETE FROM documents WHERE kind = ? AND id = ?", c.Kind, id); err != nil {
		return fmt.Errorf("delete document %s %q: %w", c.Kind, id, err)
	}
	return nil
}

// SetTime changes the time of a document. A missing document is not an error.
func (c Collection[T]) SetTime(tx *Tx, id string, at time.Time) error {
	if err := tx.execQuery("UPDATE documents SET at = ? WHERE kind = ? AND id = ?", toMicros(at), c.Kind, id); err != nil {
		return fmt.Errorf("set the time of document %s %q: %w", c.Kind, id, err)
	}
	return nil
}

// MoveTo changes the kind of a document. A missing document is not an error.
func (c Collection[T]) MoveTo(tx *Tx, id string, to Collection[T]) error {
	if err := tx.execQuery("UPDATE documents SET kind = ? WHERE kind = ? AND id = ?", to.Kind, c.Kind, id); err != nil {
		return fmt.Errorf("move document %s %q to %s: %w", c.Kind, id, to.Kind, err)
	}
	return nil
}

// DeleteByParent deletes the documents of a parent and returns their number.
func (c Collection[T]) DeleteByParent(tx *Tx, parent string) (int64, error) {
	n, err := tx.changeRows("DELETE FROM documents WHERE kind = ? AND parent = ?", c.Kind, parent)
	if err != nil {
		return 0, fmt.Errorf("delete documents %s of %q: %w", c.Kind, parent, err)
	}
	return n, nil
}

// Get returns a document, and false if it does not exist.
func (c Collection[T]) Get(ctx context.Context, r Reader, id string) (doc Doc[T], found bool, err error) {
	docs, err := c.findDocument(ctx, r, " AND id = ?", id)
	if err != nil || len(docs) == 0 {
		return doc, false, err
	}
	return docs[0], true, nil
}

// All returns every document of the kind, ordered by At and then by the bytes of the ID.
func (c Collection[T]) All(ctx context.Context, r Reader) ([]Doc[T], error) {
	return c.findDocument(ctx, r, "")
}

// ByParent returns the documents of a parent, in the order of All.
func (c Collection[T]) ByParent(ctx context.Context, r Reader, parent string) ([]Doc[T], error) {
	return c.findDocument(ctx, r, " AND parent = ?", parent)
}

// PageByParent returns at most limit documents of a parent, starting at offset, ordered by ID. The
// IDs must be numbers of one width; see Behind.
func (c Collection[T]) PageByParent(ctx context.Context, r Reader, parent string, offset, limit int) ([]Doc[T], error) {
	return c.readDocuments(ctx, r, " AND parent = ? ORDER BY id LIMIT ? OFFSET ?", parent, limit, offset)
}

// IDsByParent returns the IDs of a parent's documents in order without reading the documents. The
// IDs must be numbers of one width; see Behind.
func (c Collection[T]) IDsByParent(ctx context.Context, r Reader, parent string) ([]string, error) {
	return c.readKeys(ctx, r, "SELECT id FROM documents WHERE kind = ? AND parent = ? ORDER BY id", c.Kind, parent)
}

// CountByParent returns the number of a parent's documents without reading them.
func (c Collection[T]) CountByParent(ctx context.Context, r Reader, parent string) (n int, err error) {
	err = r.queryRows(ctx, "SELECT COUNT(*) FROM documents WHERE kind = ? AND parent = ?", []any{c.Kind, parent},
		func(rows *sql.Rows) error { return rows.Scan(&n) })
	if err != nil {
		return 0, fmt.Errorf("count documents %s of %q: %w", c.Kind, parent, err)
	}
	return n, nil
}

// keysEach is the number of keys in one query.
const keysEach = 500

// ByParents returns the documents of several parents, in the order of All within each 500 parents.
func (c Collection[T]) ByParents(ctx context.Context, r Reader, parents []string) ([]Doc[T], error) {
	return c.findKeys(ctx, r, "parent", parents)
}

// ByIDs returns several documents, in the order of All within each 500 IDs.
func (c Collection[T]) ByIDs(ctx context.Context, r Reader, ids []string) ([]Doc[T], error) {
	return c.findKeys(ctx, r, "id", ids)
}

func (c Collection[T]) findKeys(ctx context.Context, r Reader, column string, keys []string) ([]Doc[T], error) {
	var all []Doc[T]
	for some := range slices.Chunk(keys, keysEach) {
		args := make([]any, 0, len(some))
		for _, key := range some {
			args = append(args, key)
		}
		docs, err := c.findDocument(ctx, r, " AND "+column+" IN (?"+strings.Repeat(", ?", len(some)-1)+")", args...)
		if err != nil {
			return nil, err
		}
		all = append(all, docs...)
	}
	return all, nil
}

// Parents returns the parents of all documents without duplicates, in no particular order.
func (c Collection[T]) Parents(ctx context.Context, r Reader) ([]string, error) {
	return c.readKeys(ctx, r, "SELECT DISTINCT parent FROM documents WHERE kind = ?", c.Kind)
}

func (c Collection[T]) readKeys(ctx context.Context, r Reader, query string, args ...any) ([]string, error) {
	var all []string
	err := r.queryRows(ctx, query, args, func(rows *sql.Rows) error {
		var key string
		err := rows.Scan(&key)
		all = append(all, key)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the keys of documents %s: %w", c.Kind, err)
	}
	return all, nil
}

// Before returns the documents with At before at, in the order of All. Documents without a time are
// excluded.
func (c Collection[T]) Before(ctx context.Context, r Reader, at time.Time) ([]Doc[T], error) {
	return c.findDocument(ctx, r, " AND at < ? AND at <> 0", toMicros(at))
}

// After returns the documents with At after at, in the order of All.
func (c Collection[T]) After(ctx context.Context, r Reader, at time.Time) ([]Doc[T], error) {
	return c.findDocument(ctx, r, " AND at > ?", toMicros(at))
}

// First returns the documents with the earliest At before at, at most limit.
func (c Collection[T]) First(ctx context.Context, r Reader, at time.Time, limit int) ([]Doc[T], error) {
	return c.findDocument(ctx, r, " AND at < ? AND at <> 0 ORDER BY at LIMIT ?", toMicros(at), limit)
}

// Latest returns the documents with the latest At, at most limit, in the order of All.
func (c Collection[T]) Latest(ctx context.Context, r Reader, limit int) ([]Doc[T], error) {
	return c.findDocument(ctx, r, " AND at > 0 ORDER BY at DESC LIMIT ?", limit)
}

// Behind returns at most limit documents with an ID greater than id and At not before since, ordered
// by ID. The IDs must be numbers of one width, because databases order other strings differently.
func (c Collection[T]) Behind(ctx context.Context, r Reader, id string, since time.Time, limit int) ([]Doc[T], error) {
	return c.readDocuments(ctx, r, " AND id > ? AND at >= ? ORDER BY id LIMIT ?", id, toMicros(since), limit)
}

// Ahead returns at most limit documents with an ID less than id and At not before since, the greatest ID
// first; an empty id is greater than all. See Behind.
func (c Collection[T]) Ahead(ctx context.Context, r Reader, id string, since time.Time, limit int) ([]Doc[T], error) {
	if id == "" {
		return c.readDocuments(ctx, r, " AND at >= ? ORDER BY id DESC LIMIT ?", toMicros(since), limit)
	}
	return c.readDocuments(ctx, r, " AND id < ? AND at >= ? ORDER BY id DESC LIMIT ?", id, toMicros(since), limit)
}

// Last returns the document with the greatest ID, and false if the collection is empty. The IDs must
// be numbers of one width; see Behind.
func (c Collection[T]) Last(ctx context.Context, r Reader) (doc Doc[T], found bool, err error) {
	docs, err := c.readDocuments(ctx, r, " ORDER BY id DESC LIMIT 1")
	if err != nil || len(docs) == 0 {
		return doc, false, err
	}
	return docs[0], true, nil
}

func (c Collection[T]) findDocument(ctx context.Context, r Reader, where string, args ...any) ([]Doc[T], error) {
	docs, err := c.readDocuments(ctx, r, where, args...)
	sortDocs(docs)
	return docs, err
}

// readDocuments returns the documents that the rest of the query selects, in its order.
func (c Collection[T]) readDocuments(ctx context.Context, r Reader, rest string, args ...any) ([]Doc[T], error) {
	var docs []Doc[T]
	var bad error
	query := "SELECT id, parent, at, doc FROM documents WHERE kind = ?" + rest
	err := r.queryRows(ctx, query, append([]any{c.Kind}, args...), func(rows *sql.Rows) error {
		var d Doc[T]
		var at int64
		var b sql.RawBytes
		if err := rows.Scan(&d.ID, &d.Parent, &at, &b); err != nil {
			return err
		}
		d.At = fromMicros(at)
		// A document that cannot be decoded is not a failure of the connection, so that its error
		// must not be classified as one.
		if err := json.Unmarshal(b, &d.Value); err != nil && bad == nil {
			bad = fmt.Errorf("read document %s %q: invalid encoding: %w", c.Kind, d.ID, err)
		}
		docs = append(docs, d)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read documents %s: %w", c.Kind, err)
	}
	if bad != nil {
		return nil, bad
	}
	return docs, nil
}

// sortDocs sorts by the bytes of the ID, because databases use their locale. It uses package sort,
// because slices would be instantiated for each of 40 kinds of documents, which adds 2 MB to the
// binary.
func sortDocs[T any](docs []Doc[T]) {
	sort.Slice(docs, func(i, j int) bool {
		a, b := &docs[i], &docs[j]
		return cmp.Or(a.At.Compare(b.At), strings.Compare(a.ID, b.ID)) < 0
	})
}

// checkKey returns an error if a key is empty or not every database can store it.
func checkKey(name, text string) error {
	if text == "" {
		return fmt.Errorf("%s: must not be empty", name)
	}
	return archive.CheckText(name, text)
}
