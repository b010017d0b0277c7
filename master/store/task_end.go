package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/master/store/archive"
)

// TaskEnd holds the fields of an ended task by which its history is filtered.
type TaskEnd struct {
	ID string
	// Ended is in microseconds.
	Ended  int64
	UserID int32
	Pool   string
	State  string
	// Labels are texts of the form key=value.
	Labels []string
}

// AddTaskEnd adds an ended task to the history. A repeated call changes nothing.
func AddTaskEnd(tx *Tx, e TaskEnd) error {
	err := errors.Join(checkKey("id", e.ID), archive.CheckText("state", e.State))
	if err == nil {
		err = tx.execQuery("INSERT INTO task_ends (id, ended, user_id, pool, state) VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING",
			[]byte(e.ID), e.Ended, int64(e.UserID), sortKey(e.Pool), e.State)
	}
	for _, l := range e.Labels {
		if err == nil {
			err = tx.execQuery("INSERT INTO task_labels (label, ended, id) VALUES (?, ?, ?) ON CONFLICT (label, ended, id) DO NOTHING", []byte(l), e.Ended, []byte(e.ID))
		}
	}
	if err != nil {
		return fmt.Errorf("add task %q to the history: %w", e.ID, err)
	}
	return nil
}

// DeleteTaskEnd removes a task from the history; its ID, Ended and Labels must be set. A missing task is
// not an error.
func DeleteTaskEnd(tx *Tx, e TaskEnd) error {
	err := tx.execQuery("DELETE FROM task_ends WHERE id = ?", []byte(e.ID))
	for _, l := range e.Labels {
		if err == nil {
			err = tx.execQuery("DELETE FROM task_labels WHERE label = ? AND ended = ? AND id = ?", []byte(l), e.Ended, []byte(e.ID))
		}
	}
	if err != nil {
		return fmt.Errorf("remove task %q from the history: %w", e.ID, err)
	}
	return nil
}

// TaskEndKey is the position of a task in the history.
type TaskEndKey struct {
	Ended int64
	ID    string
}

// MostFilterValues is the maximum number of values of each filter of a TaskEndQuery.
const MostFilterValues = 10

// TaskEndQuery selects tasks of the history. A filter without values selects all tasks; a task has one of
// the States, Users and Pools, and all of the Labels.
type TaskEndQuery struct {
	States  []string
	UserIDs []int32
	Pools   []string
	Labels  []string
	// Since is the earliest end in microseconds.
	Since int64
	// Before selects the tasks after a position; the zero value selects the first ones.
	Before TaskEndKey
	Limit  int
}

// TaskEnds returns a page of the history, the latest end first. One filter is served by an index; the others
// are compared in the index rows.
func TaskEnds(ctx context.Context, r Reader, q TaskEndQuery) ([]TaskEndKey, error) {
	if q.Before == (TaskEndKey{}) {
		q.Before.Ended = math.MaxInt64
	}
	var all []TaskEndKey
	for _, s := range q.statements() {
		err := r.queryRows(ctx, s.text, s.args, func(rows *sql.Rows) error {
			var k TaskEndKey
			var id []byte
			err := rows.Scan(&id, &k.Ended)
			k.ID = string(id)
			all = append(all, k)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("list the history of tasks: %w", err)
		}
	}
	slices.SortFunc(all, func(a, b TaskEndKey) int { return cmp.Or(cmp.Compare(b.Ended, a.Ended), strings.Compare(b.ID, a.ID)) })
	return all[:min(len(all), q.Limit)], nil
}

type endStatement struct {
	text string
	args []any
}

// statements returns a statement for each value of the filter that an index serves. Their results are
// disjoint.
func (q TaskEndQuery) statements() []endStatement {
	rest := q
	switch {
	case len(q.Labels) > 0:
		rest.Labels = q.Labels[1:]
		return []endStatement{rest.statement("task_labels", "label = ? AND ", []byte(q.Labels[0]))}
	case len(q.States) > 0:
		rest.States = nil
		return eachOf(q.States, func(s string) endStatement { return rest.statement("task_ends", "state = ? AND ", s) })
	case len(q.UserIDs) > 0:
		rest.UserIDs = nil
		return eachOf(q.UserIDs, func(id int32) endStatement { return rest.statement("task_ends", "user_id = ? AND ", int64(id)) })
	}
	return []endStatement{rest.statement("task_ends", "")}
}

// statement returns the statement that reads a table by an index, which begins with the column of the
// condition, and compares the filters of q.
func (q TaskEndQuery) statement(table, condition string, value ...any) endStatement {
	labels, args := q.compareLabels()
	where, values := q.compareFields()
	if where != "" && table != "task_ends" {
		where = " AND EXISTS (SELECT 1 FROM task_ends WHERE id = l.id" + where + ")"
	}
	return endStatement{
		"SELECT id, ended FROM " + table + " l WHERE " + condition + "(ended, id) < (?, ?) AND ended >= ?" + labels + where + " ORDER BY ended DESC, id DESC LIMIT ?",
		slices.Concat(value, []any{q.Before.Ended, []byte(q.Before.ID), q.Since}, args, values, []any{q.Limit}),
	}
}

func (q TaskEndQuery) compareLabels() (where string, args []any) {
	for _, l := range q.Labels {
		where += " AND EXISTS (SELECT 1 FROM task_labels x WHERE x.label = ? AND x.ended = l.ended AND x.id = l.id)"
		args = append(args, []byte(l))
	}
	return where, args
}

// compareFields always compares with MostFilterValues values, so that there are few different statements.
// The addition prevents the databases from using the index on the user.
func (q TaskEndQuery) compareFields() (where string, args []any) {
	for _, f := range []struct {
		column string
		values []any
	}{
		{"state", eachOf(q.States, func(s string) any { return s })},
		{"user_id + 0", eachOf(q.UserIDs, func(id int32) any { return int64(id) })},
		{"pool", eachOf(q.Pools, func(p string) any { return sortKey(p) })},
	} {
		if len(f.values) == 0 {
			continue
		}
		where += " AND " + f.column + " IN (?" + strings.Repeat(", ?", MostFilterValues-1) + ")"
		for i := range MostFilterValues {
			args = append(args, f.values[min(i, len(f.values)-1)])
		}
	}
	return where, args
}

func eachOf[T, U any](values []T, convert func(T) U) []U {
	var out []U
	for _, v := range values {
		out = append(out, convert(v))
	}
	return out
}
