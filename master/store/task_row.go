package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/det-deploy/det-deploy/master/store/archive"
)

// TaskRow holds the fields of a task by which lists filter and sort.
type TaskRow struct {
	ID        string
	UserID    int32
	Workspace int32
	Username  string
	Name      string
	Pool      string
	// Kind is empty for commands.
	Kind string
	// Submitted and Ended are in microseconds; Ended is 0 for a task that EndedTaskRows must not
	// return.
	Submitted, Ended int64
}

// TaskGroup is the group of tasks with the same user, username, workspace and kind.
type TaskGroup struct {
	ID        int64
	UserID    int32
	Workspace int32
	Username  string
	Kind      string
	// Tasks is the number of tasks.
	Tasks int
}

// keyBytes limits the part of a name by which rows are sorted, because PostgreSQL limits the size of
// index entries.
const keyBytes = 200

func sortKey(text string) []byte { return []byte(text[:min(len(text), keyBytes)]) }

// AddTaskRow adds a task to the list and counts it. It reports false, and changes nothing, if the
// task is already listed.
func AddTaskRow(tx *Tx, r TaskRow) (added bool, err error) {
	err = errors.Join(checkKey("id", r.ID), archive.CheckText("name", r.Name))
	if err == nil {
		err = countFirst(tx, r)
	}
	if err == nil {
		added, err = addRow(tx, r)
	}
	if err == nil && !added {
		_, err = countIn(tx, r, -1)
	}
	if err != nil {
		return false, fmt.Errorf("list task %q: %w", r.ID, err)
	}
	return added, nil
}

// countFirst counts a task in its group, and creates the group if it is missing.
func countFirst(tx *Tx, r TaskRow) error {
	found, err := countIn(tx, r, 1)
	if err != nil || found {
		return err
	}
	if err := addGroup(tx, r); err != nil {
		return err
	}
	_, err = countIn(tx, r, 1)
	return err
}

// AddTaskRows adds tasks of one kind of one user in one workspace. It returns an error if one of them is already
// listed.
func AddTaskRows(tx *Tx, rows []TaskRow) error {
	if len(rows) == 0 {
		return nil
	}
	err := addGroup(tx, rows[0])
	var group int64
	if err == nil {
		err = tx.queryRows(tx.ctx, "SELECT id FROM task_groups "+ofGroup, groupKey(rows[0]),
			func(r *sql.Rows) error { return r.Scan(&group) })
	}
	for some := range slices.Chunk(rows, putEach) {
		if err != nil {
			break
		}
		err = addRows(tx, group, some)
	}
	if err == nil {
		_, err = countIn(tx, rows[0], len(rows))
	}
	if err != nil {
		return fmt.Errorf("list %d tasks: %w", len(rows), err)
	}
	return nil
}

// addRows returns an error if a task is already listed.
func addRows(tx *Tx, group int64, rows []TaskRow) error {
	args := make([]any, 0, 6*len(rows))
	for _, r := range rows {
		if err := errors.Join(checkKey("id", r.ID), archive.CheckText("name", r.Name)); err != nil {
			return err
		}
		args = append(args, []byte(r.ID), group, sortKey(r.Name), sortKey(r.Pool), r.Submitted, r.Ended)
	}
	return tx.execQuery("INSERT INTO task_rows (id, grp, name, pool, submitted, ended) VALUES "+valueRows(len(rows), 6), args...)
}

func groupKey(r TaskRow) []any {
	return []any{int64(r.UserID), int64(r.Workspace), []byte(r.Username), r.Kind}
}

// addGroup creates the group of a task with a count of 0 unless it exists.
func addGroup(tx *Tx, r TaskRow) error {
	return tx.execQuery("INSERT INTO task_groups (id, user_id, workspace, username, kind, tasks) "+
		"SELECT COALESCE(MAX(id), 0) + 1, ?, ?, ?, ?, 0 FROM task_groups WHERE true ON CONFLICT (user_id, workspace, username, kind) DO NOTHING", groupKey(r)...)
}

const ofGroup = "WHERE user_id = ? AND workspace = ? AND username = ? AND kind = ?"

// countIn adds n to the count of a task's group. It reports whether the group exists.
func countIn(tx *Tx, r TaskRow, n int) (found bool, err error) {
	groups, err := tx.changeRows("UPDATE task_groups SET tasks = tasks + ? "+ofGroup, append([]any{int64(n)}, groupKey(r)...)...)
	return groups > 0, err
}

// addRow adds the row of a task whose group exists. The statement has a single row of VALUES,
// because for a SELECT SQLite would keep copies of the changed pages.
func addRow(tx *Tx, r TaskRow) (added bool, err error) {
	args := append([]any{[]byte(r.ID)}, groupKey(r)...)
	n, err := tx.changeRows("INSERT INTO task_rows (id, grp, name, pool, submitted, ended) "+
		"VALUES (?, (SELECT id FROM task_groups "+ofGroup+"), ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING",
		append(args, sortKey(r.Name), sortKey(r.Pool), r.Submitted, r.Ended)...)
	return n > 0, err
}

// MoveTaskRow changes the resource pool of a task.
func MoveTaskRow(tx *Tx, id, pool string) error {
	if err := tx.execQuery("UPDATE task_rows SET pool = ? WHERE id = ?", sortKey(pool), []byte(id)); err != nil {
		return fmt.Errorf("list task %q in another pool: %w", id, err)
	}
	return nil
}

// EndTaskRow sets the end of a task in microseconds. From then on EndedTaskRows returns the task.
func EndTaskRow(tx *Tx, id string, ended int64) error {
	if err := tx.execQuery("UPDATE task_rows SET ended = ? WHERE id = ?", ended, []byte(id)); err != nil {
		return fmt.Errorf("list task %q as ended: %w", id, err)
	}
	return nil
}

// DeleteTaskRow removes a task from the list. A missing task is not an error.
func DeleteTaskRow(tx *Tx, id string) error {
	err := tx.execQuery("UPDATE task_groups SET tasks = tasks - 1 WHERE id = (SELECT grp FROM task_rows WHERE id = ?)", []byte(id))
	if err == nil {
		err = tx.execQuery("DELETE FROM task_rows WHERE id = ?", []byte(id))
	}
	if err != nil {
		return fmt.Errorf("list task %q no longer: %w", id, err)
	}
	return nil
}

// TaskGroups returns all groups, including empty ones, in no particular order.
func TaskGroups(ctx context.Context, r Reader) ([]TaskGroup, error) {
	var all []TaskGroup
	err := r.queryRows(ctx, "SELECT id, user_id, workspace, username, kind, tasks FROM task_groups", nil, func(rows *sql.Rows) error {
		var g TaskGroup
		var name []byte
		err := rows.Scan(&g.ID, &g.UserID, &g.Workspace, &name, &g.Kind, &g.Tasks)
		g.Username = string(name)
		all = append(all, g)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("count the listed tasks: %w", err)
	}
	return all, nil
}

// EndedTaskRows returns at most limit tasks that ended before the given time, in microseconds, the
// earliest first.
func EndedTaskRows(ctx context.Context, r Reader, before int64, limit int) ([]string, error) {
	return readTaskIDs(ctx, r, "SELECT id FROM task_rows WHERE ended > 0 AND ended < ? ORDER BY ended, id LIMIT ?", before, limit)
}
