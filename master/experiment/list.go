package experiment

import (
	"cmp"
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/master/experiment/lifecycle"
	"github.com/det-deploy/det-deploy/master/experiment/record"
)

// Query asks for a part of all experiments.
type Query struct {
	Filter

	// Order is nil for their numbers.
	Order      RowOrder
	Descending bool
	// Cut says which part of so many is wanted.
	Cut func(total int) (from, to int)
}

// Row is what an experiment is chosen and sorted by. It must not be changed.
type Row struct {
	*record.Experiment

	entry *entry
	in    *shared
}

// Shown is the state that it is shown in; see View.
func (r Row) Shown() string { return r.in.shownOf(r.Experiment, r.entry) }

// RowOrder sorts rows that are in the order of their numbers. Equal ones stay in it.
type RowOrder func(rows []Row, descending bool)

// OrderBy is by a key, which is worked out once for each row.
func OrderBy[K any](key func(Row) K, compare func(a, b K) int) RowOrder {
	type keyed struct {
		key K
		row Row
	}
	return func(rows []Row, descending bool) {
		list := make([]keyed, len(rows))
		for i, r := range rows {
			list[i] = keyed{key(r), r}
		}
		slices.SortFunc(list, func(a, b keyed) int {
			c := compare(a.key, b.key)
			if descending {
				c = -c
			}
			return cmp.Or(c, cmp.Compare(a.row.ID, b.row.ID))
		})
		for i, k := range list {
			rows[i] = k.row
		}
	}
}

// Page is a part of the experiments that a query leaves in. Of what is not in the part nothing is
// copied.
func (v *views) Page(q Query) []View {
	rows := v.Rows(q.Filter)
	switch {
	case q.Order != nil:
		q.Order(rows, q.Descending)
	case q.Descending:
		slices.Reverse(rows)
	}
	from, to := q.Cut(len(rows))
	out := make([]View, 0, to-from)
	for _, r := range rows[from:to] {
		out = append(out, View{Experiment: *r.Experiment, Shown: r.Shown()})
	}
	return out
}

// Rows is all experiments that f leaves in, by their number.
func (v *views) Rows(f Filter) []Row {
	all := v.reg.all()
	rows := make([]Row, 0, len(all))
	for _, e := range all {
		if r := (Row{e.stored(), e, v.shared}); f.leavesIn(r.Experiment) && f.leavesState(r) {
			rows = append(rows, r)
		}
	}
	return rows
}

// Filter says which experiments are listed. What is empty or nil leaves all in.
type Filter struct {
	Archived *bool
	Users    []string
	UserIDs  []int32
	// Name and Description are parts of them, upper and lower case alike.
	Name        string
	Description string
	// Labels must all be there.
	Labels []string
	// States are shown ones; ACTIVE stands for all of those that it is shown as.
	States  []string
	Project int32
	// IDs and NotIDs are sets; the others are bounds, both included, 0 for none.
	IDs, NotIDs     []int32
	FromID, UntilID int32
}

// leavesIn judges all but the state.
func (f Filter) leavesIn(x *record.Experiment) bool {
	return (f.Archived == nil || *f.Archived == x.Archived) && f.leavesID(x.ID) && f.leavesUser(x) && f.leavesText(x) &&
		(f.Project == 0 || f.Project == x.ProjectID)
}

func (f Filter) leavesID(id int32) bool {
	return (len(f.IDs) == 0 || slices.Contains(f.IDs, id)) && !slices.Contains(f.NotIDs, id) &&
		id >= f.FromID && (f.UntilID == 0 || id <= f.UntilID)
}

func (f Filter) leavesUser(x *record.Experiment) bool {
	if len(f.Users) == 0 && len(f.UserIDs) == 0 {
		return true
	}
	return slices.Contains(f.Users, x.Username) || slices.Contains(f.UserIDs, x.UserID)
}

func (f Filter) leavesText(x *record.Experiment) bool {
	for _, label := range f.Labels {
		if !slices.Contains(x.Labels, label) {
			return false
		}
	}
	return containsFold(x.Name, f.Name) && containsFold(x.Description, f.Description)
}

func containsFold(text, part string) bool {
	return part == "" || strings.Contains(strings.ToLower(text), strings.ToLower(part))
}

func (f Filter) leavesState(r Row) bool {
	return len(f.States) == 0 || r.State == lifecycle.Active && slices.Contains(f.States, string(r.State)) || slices.Contains(f.States, r.Shown())
}
