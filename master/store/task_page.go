package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// TaskOrder is the order of a page. Equal rows are ordered by their submission.
type TaskOrder string

// The orders. Each has an index.
const (
	BySubmission TaskOrder = "submitted"
	ByTaskName   TaskOrder = "name"
	ByTaskPool   TaskOrder = "pool"
	ByTaskID     TaskOrder = "id"
)

// TaskPage selects a page of the tasks of some groups.
type TaskPage struct {
	// Groups are the selected groups, a subset of All.
	Groups, All   []TaskGroup
	Order         TaskOrder
	Descending    bool
	Offset, Limit int
}

// TaskIDs returns the IDs of a page. It counts from the nearer end of the list.
func TaskIDs(ctx context.Context, r Reader, p TaskPage) ([]string, error) {
	total := countTasks(p.Groups)
	p.Limit = min(p.Limit, total-p.Offset)
	if p.Limit <= 0 || p.Offset < 0 {
		return nil, nil
	}
	near, turned := p, total-p.Offset-p.Limit < p.Offset
	if turned {
		near.Offset, near.Descending = total-p.Offset-p.Limit, !p.Descending
	}
	ids, err := readTaskIDs(ctx, r, near.query(total), near.Limit, near.Offset)
	if turned {
		slices.Reverse(ids)
	}
	return ids, err
}

// hasAll reports whether all groups are selected.
func (p TaskPage) hasAll() bool { return countTasks(p.Groups) >= countTasks(p.All) }

// hasIndex reports whether an index contains exactly the selected rows.
func (p TaskPage) hasIndex() bool { return p.hasAll() || len(p.Groups) == 1 && p.Order == BySubmission }

// inGroups returns the condition that selects the groups. The addition prevents the databases from
// using the index on the group.
func (p TaskPage) inGroups() string {
	if p.hasIndex() {
		return " AND grp IN (" + p.groupText() + ")"
	}
	return " AND grp + 0 IN (" + p.groupText() + ")"
}

// rowsRead estimates the number of index rows that are read for the page. If no index contains
// exactly the selected rows, these include rows of other groups.
func (p TaskPage) rowsRead(total int) int {
	if p.hasIndex() {
		return p.Offset + p.Limit
	}
	return (p.Offset + p.Limit) * max(countTasks(p.All), 1) / max(total, 1)
}

func countTasks(groups []TaskGroup) int {
	n := 0
	for _, g := range groups {
		n += g.Tasks
	}
	return n
}

// query returns the cheaper of two queries: one reads the rows in order and skips those of other
// groups, the other reads all rows of the groups and sorts them.
func (p TaskPage) query(total int) string {
	order := p.orderText()
	const last = " LIMIT ? OFFSET ?"
	switch {
	case p.hasAll():
		return "SELECT id FROM task_rows" + order + last
	case !p.hasIndex() && sortCost*total < p.rowsRead(total):
		return "WITH chosen AS MATERIALIZED (SELECT id, name, pool, submitted FROM task_rows WHERE grp IN (" + p.groupText() + ")) SELECT id FROM chosen" + order + last
	}
	return "SELECT id FROM task_rows WHERE true" + p.inGroups() + order + last
}

// sortCost is the number of index rows that can be read in the time for reading and sorting one row.
const sortCost = 8

func (p TaskPage) orderText() string {
	if p.Descending {
		return " ORDER BY " + p.Order.columnText(" DESC")
	}
	return " ORDER BY " + p.Order.columnText("")
}

// columns returns the sort columns of an order.
func (o TaskOrder) columns() []string {
	switch o {
	case BySubmission:
		return []string{"submitted", "id"}
	case ByTaskID:
		return []string{"id"}
	case ByTaskName, ByTaskPool:
	}
	return []string{string(o), "submitted", "id"}
}

// columnText returns the columns with a direction, which is empty for ascending.
func (o TaskOrder) columnText(direction string) string {
	return strings.Join(o.columns(), direction+", ") + direction
}

// groupText returns the sorted IDs of the groups as literals, because there may be more groups than
// a statement has parameters. Sorting keeps the text the same, because PostgreSQL returns groups in
// a different order after every count.
func (p TaskPage) groupText() string {
	ids := make([]int64, 0, len(p.Groups))
	for _, g := range p.Groups {
		ids = append(ids, g.ID)
	}
	slices.Sort(ids)
	numbers := make([]string, 0, len(ids))
	for _, id := range ids {
		numbers = append(numbers, strconv.FormatInt(id, 10))
	}
	return strings.Join(numbers, ", ")
}

func readTaskIDs(ctx context.Context, r Reader, query string, args ...any) ([]string, error) {
	var ids []string
	err := r.queryRows(ctx, query, args, func(rows *sql.Rows) error {
		var id []byte
		err := rows.Scan(&id)
		ids = append(ids, string(id))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list tasks: %w", err)
	}
	return ids, nil
}
