package store

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
)

// UserBytes is the stored size in bytes of a kind of data of a user.
type UserBytes struct {
	UserID int32
	Kind   string
	Bytes  int64
}

// CountBytes adds to the stored size of a user; a negative number subtracts. The writes of one
// commit share a statement for each user and kind.
func CountBytes(tx *Tx, b UserBytes) { tx.r.counted = append(tx.r.counted, b) }

// AllUserBytes returns the sizes of all users, in no particular order. A transaction does not see
// its own changes.
func AllUserBytes(ctx context.Context, r Reader) ([]UserBytes, error) {
	var all []UserBytes
	err := r.queryRows(ctx, "SELECT user_id, kind, bytes FROM user_bytes", nil, func(rows *sql.Rows) error {
		var b UserBytes
		err := rows.Scan(&b.UserID, &b.Kind, &b.Bytes)
		all = append(all, b)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the stored sizes of users: %w", err)
	}
	return all, nil
}

// sumCounted returns the sums of the writes that have not failed.
func sumCounted(group []*request, errs []error) []UserBytes {
	sums := map[UserBytes]int64{}
	for i, r := range group {
		for _, b := range r.counted {
			if errs[i] == nil {
				sums[UserBytes{UserID: b.UserID, Kind: b.Kind}] += b.Bytes
			}
		}
	}
	var out []UserBytes
	for b, n := range sums {
		if b.Bytes = n; n != 0 {
			out = append(out, b)
		}
	}
	slices.SortFunc(out, func(a, b UserBytes) int {
		return cmp.Or(cmp.Compare(a.UserID, b.UserID), strings.Compare(a.Kind, b.Kind))
	})
	return out
}

// commitCounted commits writes together with their changes of the sizes.
func (w *writer) commitCounted(ctx context.Context, group []*request, errs []error) error {
	for _, b := range sumCounted(group, errs) {
		_, err := w.changeRows(ctx, "INSERT INTO user_bytes (user_id, kind, bytes) VALUES (?, ?, ?) "+
			"ON CONFLICT (user_id, kind) DO UPDATE SET bytes = user_bytes.bytes + excluded.bytes", int64(b.UserID), b.Kind, b.Bytes)
		if err != nil {
			w.abortTransaction(ctx)
			return w.classifyError(ctx, err)
		}
	}
	return w.commitGroup(ctx)
}
