package command

import (
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
)

// Column is a column of a list of items T; see term.Column. The first column is the name of the item for
// other commands.
type Column[T any] struct {
	Head     string
	Rank     int
	Shortest int
	Wide     bool
	// Value returns the cell of an item, formatted according to its type; see term.Table.
	Value func(T) any
}

// Tabulate returns a table of items.
func Tabulate[T any](columns []Column[T], items []T) *term.Table {
	heads := make([]term.Column, 0, len(columns))
	for _, c := range columns {
		heads = append(heads, term.Column{Head: c.Head, Rank: c.Rank, Shortest: c.Shortest, Wide: c.Wide})
	}
	t := term.TableOf(heads...)
	for _, item := range items {
		cells := make([]any, 0, len(columns))
		for _, c := range columns {
			cells = append(cells, c.Value(item))
		}
		t.Row(cells...)
	}
	return t
}

// name returns the name of a column for --sort-by, such as "last-login".
func (c Column[T]) name() string { return term.ColumnName(strings.TrimPrefix(c.Head, ">")) }

// checkColumn returns a usage error unless by is a value of --sort-by.
func checkColumn(columns []string, by string) error {
	if by == "" || slices.Contains(columns, strings.TrimPrefix(by, "-")) {
		return nil
	}
	return usage.Errorf("--sort-by %s: must be one of %s, or one of these after a hyphen for the reverse order", by, strings.Join(columns, ", "))
}

// sortItems sorts items by the column with a name, or in the reverse order if the name begins with "-".
func sortItems[T any](columns []Column[T], items []T, by string) {
	name, reverse := strings.CutPrefix(by, "-")
	i := slices.IndexFunc(columns, func(c Column[T]) bool { return c.name() == name })
	if by == "" || i < 0 {
		return
	}
	slices.SortStableFunc(items, func(x, y T) int {
		order := term.CompareCells(columns[i].Value(x), columns[i].Value(y))
		if reverse {
			return -order
		}
		return order
	})
}
