package store

import (
	"context"
	"strings"
)

// afterHex sorts behind every hexadecimal digit and dash, in the orders of all databases. UUIDs that
// begin with p are between p and p + afterHex.
const afterHex = "g"

// IDsBeginning returns at most limit IDs that begin with prefix, in order. The IDs must consist of
// hexadecimal digits and dashes, because databases order other strings differently. A prefix with other
// characters selects none.
func (c Collection[T]) IDsBeginning(ctx context.Context, r Reader, prefix string, limit int) ([]string, error) {
	if !isHex(prefix) {
		return nil, nil
	}
	return c.readKeys(ctx, r, "SELECT id FROM documents WHERE kind = ? AND id >= ? AND id < ? ORDER BY id LIMIT ?",
		c.Kind, prefix, prefix+afterHex, limit)
}

func isHex(prefix string) bool { return strings.Trim(prefix, "0123456789abcdef-") == "" }

// ParentsBeginning returns at most limit parents that begin with prefix, in order and without
// duplicates. Their characters are those of IDsBeginning.
func (c Collection[T]) ParentsBeginning(ctx context.Context, r Reader, prefix string, limit int) ([]string, error) {
	if !isHex(prefix) {
		return nil, nil
	}
	return c.readKeys(ctx, r, "SELECT DISTINCT parent FROM documents WHERE kind = ? AND parent >= ? AND parent < ? ORDER BY parent LIMIT ?",
		c.Kind, prefix, prefix+afterHex, limit)
}

// TaskIDsBeginning returns at most limit IDs of listed tasks that begin with prefix, in order.
func TaskIDsBeginning(ctx context.Context, r Reader, prefix string, limit int) ([]string, error) {
	from, to := prefixRange(prefix)
	return readTaskIDs(ctx, r, "SELECT id FROM task_rows WHERE id >= ? AND id < ? ORDER BY id LIMIT ?", from, to, limit)
}

// EndedTaskIDsBeginning is TaskIDsBeginning for tasks of the history.
func EndedTaskIDsBeginning(ctx context.Context, r Reader, prefix string, limit int) ([]string, error) {
	from, to := prefixRange(prefix)
	return readTaskIDs(ctx, r, "SELECT id FROM task_ends WHERE id >= ? AND id < ? ORDER BY id LIMIT ?", from, to, limit)
}

// TaskIDsNamed returns at most limit IDs of listed tasks whose name begins with prefix: first those with
// exactly this name, the latest first.
func TaskIDsNamed(ctx context.Context, r Reader, prefix string, limit int) ([]string, error) {
	exact := sortKey(prefix)
	ids, err := readTaskIDs(ctx, r, "SELECT id FROM task_rows WHERE name = ? ORDER BY submitted DESC LIMIT ?", exact, limit)
	if err != nil || len(ids) == limit {
		return ids, err
	}
	from, to := prefixRange(string(exact))
	longer, err := readTaskIDs(ctx, r, "SELECT id FROM task_rows WHERE name > ? AND name < ? ORDER BY name, submitted LIMIT ?", from, to, limit-len(ids))
	return append(ids, longer...), err
}

// prefixRange returns the bounds of the byte strings that begin with prefix, for columns of bytes.
func prefixRange(prefix string) (from, to []byte) {
	return []byte(prefix), append([]byte(prefix), 0xff) // no text in UTF-8 contains this byte
}
