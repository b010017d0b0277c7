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

// TaskIDs reads the ids of a page. The nearer end of the list is where it begins to count, or, far from
// both, the block that has the page.
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
	if at, found := placeOf(r, p, near.cost(total), total); found {
		return readFromBlock(ctx, r, p, at)
	}
	ids, err := readTaskIDs(ctx, r, near.query(total), near.Limit, near.Offset)
	if turned {
		slices.Reverse(ids)
	}
	return ids, err
}

// placeOf finds the block of a page that would read so many rows without it, if that is far. Who looks at a page of
// all may want one of the middle next, so that blocks are made.
func placeOf(r Reader, p TaskPage, cost, total int) (at blockPage, found bool) {
	s, is := r.(*Store)
	if !is || s.queue == nil {
		return at, false
	}
	most := farBlocks * s.blocks.rows
	far := cost > max(most, 2*s.blocks.rows+p.rowsFrom(0, total))
	if !far && (!p.hasAll() || countTasks(p.All) <= 2*most) {
		return at, false
	}
	at, found, split := s.blocks.findPage(p)
	if split {
		s.startSplitting()
	}
	return at, found && far
}

// readFromBlock reads a page from its block on.
func readFromBlock(ctx context.Context, r Reader, p TaskPage, at blockPage) ([]string, error) {
	where, args := p.Order.fromPlace(at.from)
	if !p.hasAll() {
		where += p.inGroups()
	}
	query := "SELECT id FROM task_rows WHERE " + where + " ORDER BY " + p.Order.columnText("") + " LIMIT ? OFFSET ?"
	ids, err := readTaskIDs(ctx, r, query, append(args, p.Limit, at.rest)...)
	if p.Descending {
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

// cost is about how many rows of an index query reads.
func (p TaskPage) cost(total int) int {
	rows := p.rowsFrom(p.Offset, total)
	if !p.hasIndex() {
		rows = min(rows, sortCost*total)
	}
	return rows
}

// rowsFrom is about how many rows of an index have the page when so many wanted ones are before it: where no index
// has the wanted rows alone, those of all groups are read.
func (p TaskPage) rowsFrom(offset, total int) int {
	if p.hasIndex() {
		return offset + p.Limit
	}
	return (offset + p.Limit) * max(countTasks(p.All), 1) / max(total, 1)
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
	case !p.hasIndex() && sortCost*total < p.rowsFrom(p.Offset, total):
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
