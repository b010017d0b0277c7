package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// TaskOrder is what a page of rows is sorted by; equal ones are in the order of their submission.
type TaskOrder string

// The orders, each of which has an index.
const (
	BySubmission TaskOrder = "submitted"
	ByTaskName   TaskOrder = "name"
	ByTaskPool   TaskOrder = "pool"
	ByTaskID     TaskOrder = "id"
)

// TaskPage is a part of the tasks of some groups.
type TaskPage struct {
	// Groups are some of All: those whose tasks are wanted.
	Groups, All   []TaskGroup
	Order         TaskOrder
	Descending    bool
	Offset, Limit int
}

// TaskIDs reads the ids of a page. The nearer end of the list is where it begins to count.
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

// hasAll says that the tasks of all groups are wanted.
func (p TaskPage) hasAll() bool { return countTasks(p.Groups) >= countTasks(p.All) }

// hasIndex says that an index has the wanted rows alone.
func (p TaskPage) hasIndex() bool { return p.hasAll() || len(p.Groups) == 1 && p.Order == BySubmission }

// inGroups leaves out the rows of other groups. The sum keeps the databases from reading by group.
func (p TaskPage) inGroups() string {
	if p.hasIndex() {
		return " AND grp IN (" + p.groupText() + ")"
	}
	return " AND grp + 0 IN (" + p.groupText() + ")"
}

// rowsRead is about how many rows of an index are read for the page: where no index has the wanted rows alone,
// those of all groups.
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

// query reads the rows in their order and leaves those of other groups out, or reads all rows of
// the groups and sorts them: whichever reads less.
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

// sortCost is how many rows of an index are read while one row is read and sorted.
const sortCost = 8

func (p TaskPage) orderText() string {
	if p.Descending {
		return " ORDER BY " + p.Order.columnText(" DESC")
	}
	return " ORDER BY " + p.Order.columnText("")
}

// columns are what an order sorts by.
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

// columnText is the columns in a direction, empty for ascending.
func (o TaskOrder) columnText(direction string) string {
	return strings.Join(o.columns(), direction+", ") + direction
}

// groupText is the groups' numbers, of which there may be more than a statement has parameters. It is the same in
// whatever order the database has the groups: PostgreSQL's changes with every count.
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
