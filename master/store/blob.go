package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
)

// Hash is the SHA-256 of a content.
type Hash [32]byte

// BlobSet identifies the blobs of one user to which one context refers. A blob is stored as long as a
// set includes it.
type BlobSet struct {
	Owner   int32
	Context Hash
}

// refsEach is the number of references that one statement writes.
const refsEach = 300

// AddBlobRefs includes blobs in a set, whether they are stored or not.
func AddBlobRefs(tx *Tx, s BlobSet, hashes []Hash) error {
	for some := range slices.Chunk(hashes, refsEach) {
		args := make([]any, 0, 3*len(some))
		for _, h := range some {
			args = append(args, int64(s.Owner), s.Context[:], h[:])
		}
		err := tx.execQuery("INSERT INTO blob_refs (owner, context, hash) VALUES "+valueRows(len(some), 3)+
			" ON CONFLICT (owner, context, hash) DO NOTHING", args...)
		if err != nil {
			return fmt.Errorf("put references to blobs: %w", err)
		}
	}
	return nil
}

// AddBlob stores a blob unless it is stored already, or unless the set does not include it. It reports
// whether it stored the blob.
func AddBlob(tx *Tx, s BlobSet, h Hash, data []byte) (added bool, err error) {
	wanted := false
	err = tx.queryRows(tx.ctx, "SELECT 1 FROM blob_refs WHERE owner = ? AND context = ? AND hash = ?",
		[]any{int64(s.Owner), s.Context[:], h[:]}, func(*sql.Rows) error { wanted = true; return nil })
	if err != nil || !wanted {
		return false, err
	}
	n, err := tx.changeRows("INSERT INTO blobs (owner, hash, data) VALUES (?, ?, ?) ON CONFLICT (owner, hash) DO NOTHING",
		int64(s.Owner), h[:], data)
	if err != nil {
		return false, fmt.Errorf("put a blob: %w", err)
	}
	return n > 0, nil
}

// Blob returns a stored blob.
func Blob(ctx context.Context, r Reader, owner int32, h Hash) (data []byte, found bool, err error) {
	err = r.queryRows(ctx, "SELECT data FROM blobs WHERE owner = ? AND hash = ?", []any{int64(owner), h[:]}, func(rows *sql.Rows) error {
		found = true
		return rows.Scan(&data)
	})
	if err != nil {
		return nil, false, fmt.Errorf("read a blob: %w", err)
	}
	return data, found, nil
}

// MissingBlobs returns the blobs of a set that are not stored, in no particular order.
func MissingBlobs(ctx context.Context, r Reader, s BlobSet) ([]Hash, error) {
	return readHashes(ctx, r, "SELECT hash FROM blob_refs r WHERE owner = ? AND context = ? AND NOT EXISTS "+
		"(SELECT 1 FROM blobs b WHERE b.owner = r.owner AND b.hash = r.hash)", int64(s.Owner), s.Context[:])
}

// FirstBlobRefs returns some blobs of a set, at most limit.
func FirstBlobRefs(ctx context.Context, r Reader, s BlobSet, limit int) ([]Hash, error) {
	return readHashes(ctx, r, "SELECT hash FROM blob_refs WHERE owner = ? AND context = ? LIMIT ?", int64(s.Owner), s.Context[:], limit)
}

func readHashes(ctx context.Context, r Reader, query string, args ...any) ([]Hash, error) {
	var all []Hash
	err := r.queryRows(ctx, query, args, func(rows *sql.Rows) error {
		var b sql.RawBytes
		err := rows.Scan(&b)
		all = append(all, Hash{})
		copy(all[len(all)-1][:], b)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read references to blobs: %w", err)
	}
	return all, nil
}

// DropBlobRef excludes a blob from a set and deletes it if no other set includes it. It returns the
// number of deleted bytes.
func DropBlobRef(tx *Tx, s BlobSet, h Hash) (bytes int64, err error) {
	args := []any{int64(s.Owner), h[:]}
	err = tx.execQuery("DELETE FROM blob_refs WHERE owner = ? AND context = ? AND hash = ?", int64(s.Owner), s.Context[:], h[:])
	if err != nil {
		return 0, fmt.Errorf("drop a reference to a blob: %w", err)
	}
	const unused = " FROM blobs WHERE owner = ? AND hash = ? AND NOT EXISTS (SELECT 1 FROM blob_refs r WHERE r.owner = blobs.owner AND r.hash = blobs.hash)"
	err = tx.queryRows(tx.ctx, "SELECT LENGTH(data)"+unused, args, func(rows *sql.Rows) error { return rows.Scan(&bytes) })
	if err == nil && bytes > 0 {
		err = tx.execQuery("DELETE"+unused, args...)
	}
	if err != nil {
		return 0, fmt.Errorf("drop a blob: %w", err)
	}
	return bytes, nil
}

// CountBlobs returns the number of stored blobs of all users, and of those that no set includes.
func CountBlobs(ctx context.Context, r Reader) (all, unused int, err error) {
	err = r.queryRows(ctx, "SELECT COUNT(*), COALESCE(SUM(CASE WHEN EXISTS (SELECT 1 FROM blob_refs r WHERE r.owner = blobs.owner AND r.hash = blobs.hash) "+
		"THEN 0 ELSE 1 END), 0) FROM blobs", nil, func(rows *sql.Rows) error { return rows.Scan(&all, &unused) })
	if err != nil {
		return 0, 0, fmt.Errorf("count blobs: %w", err)
	}
	return all, unused, nil
}
