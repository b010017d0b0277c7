package command

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/master/api/client"
)

// List defines a command that lists items T, selected by options O.
type List[O remoteOptions, T any] struct {
	// Fetch requests the items from the master.
	Fetch func(ctx context.Context, o O, master *client.Client) ([]T, error)
	// Reply returns the items as an answer of the API.
	Reply func([]T) any
	// Columns are the columns of the table.
	Columns []Column[T]
	// Filters are the columns by which the items are filtered after the request.
	Filters []Filter
	// Name distinguishes an item from the others; nil selects the first column. Object is an item as JSON;
	// nil selects the item. --watch uses both.
	Name   func(T) string
	Object func(T) (any, error)
	// None is printed if there are no items.
	None string
	// Explain, if set, prints notes on the items below the table.
	Explain func(o O, items []T)
}

// ListFlags are the flags of all lists.
type ListFlags struct {
	SortBy string
	Limit  int
	Watch  bool

	filters []*filterFlag
}

// ServerLimit returns the maximum number of items to request, or 0 for all: the first ones in another order,
// or of some, may be any.
func (g *ListFlags) ServerLimit() int {
	if g.SortBy != "" || slices.ContainsFunc(g.filters, (*filterFlag).isSet) {
		return 0
	}
	return g.Limit
}

// NewList returns a command that lists items of the master.
func NewList[O remoteOptions, T any](s *term.Streams, o O, l List[O, T], c *cobra.Command) *cobra.Command {
	o.local().Shows = true
	c = NewRemote(s, o, l.Run, c)
	o.local().AddListFlags(c, l.ColumnNames())
	for _, f := range l.Filters {
		flag := &filterFlag{Filter: f}
		flag.add(o.remote(), c)
		o.local().List.filters = append(o.local().List.filters, flag)
	}
	return c
}

// ColumnNames returns the values of --sort-by.
func (l List[O, T]) ColumnNames() []string {
	names := make([]string, 0, len(l.Columns))
	for _, c := range l.Columns {
		names = append(names, c.name())
	}
	return names
}

// Run lists the items once, or until it is interrupted.
func (l List[O, T]) Run(ctx context.Context, o O, master *client.Client) error {
	base := o.local()
	if err := base.List.validate(l.ColumnNames()); err != nil {
		return err
	}
	if base.List.Watch {
		return l.watch(ctx, o, master)
	}
	items, err := l.fetch(ctx, o, master)
	if err != nil {
		return err
	}
	if len(items) == 0 && l.None != "" && base.Output.IsText() {
		base.Notef("%s", none(o, l.None))
		return nil
	}
	err = base.AnswerTable(l.Reply(items), Tabulate(l.Columns, items))
	if l.Explain != nil {
		l.Explain(o, items)
	}
	return err
}

// AddListFlags declares the flags of a list with these columns.
func (o *Local) AddListFlags(c *cobra.Command, columns []string) {
	f := c.Flags()
	f.StringVar(&o.List.SortBy, "sort-by", "", "sort by this column, or by -COLUMN for the reverse order")
	f.IntVar(&o.List.Limit, "limit", 0, "maximum number of lines (default all)")
	f.BoolVarP(&o.List.Watch, "watch", "w", false, "show changes until interrupted")
	f.BoolVar(&o.UTC, "utc", false, "with --output wide, show dates in UTC instead of the local time zone")
	// It fails only for an unknown or a completed flag.
	CompleteWords(c, "sort-by", columns...)
}

func (g *ListFlags) validate(columns []string) error {
	if g.Limit < 0 {
		return usage.Errorf("--limit %d: must be 1 or more", g.Limit)
	}
	for _, f := range g.filters {
		if err := CheckWords(f.name(), f.many, f.Words); err != nil {
			return err
		}
	}
	return checkColumn(columns, g.SortBy)
}

// fetch returns the items in the order and number that the flags request.
func (l List[O, T]) fetch(ctx context.Context, o O, master *client.Client) ([]T, error) {
	items, err := l.Fetch(ctx, o, master)
	if err != nil {
		return nil, err
	}
	flags := o.local().List
	for _, f := range flags.filters {
		at := slices.IndexFunc(l.Columns, func(c Column[T]) bool { return c.name() == f.name() })
		items = slices.DeleteFunc(items, func(x T) bool { return !f.keeps(l.Columns[at].Value(x)) })
	}
	sortItems(l.Columns, items, flags.SortBy)
	if flags.Limit > 0 && len(items) > flags.Limit {
		items = items[:flags.Limit]
	}
	return items, nil
}
