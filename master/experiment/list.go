package experiment

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/det-deploy/det-deploy/master/experiment/lifecycle"
	"github.com/det-deploy/det-deploy/master/experiment/record"
)

// Query selects a page of the experiments.
type Query struct {
	Filter

	// Order is the order of the page; nil orders by ID.
	Order      RowOrder
	Descending bool
	// Cut returns the range of the page, given the number of matching experiments.
	Cut func(total int) (from, to int)
}

// Row is an experiment for filtering and sorting. It must not be modified.
type Row struct {
	*record.Experiment

	entry *entry
	in    *shared
}

// Shown returns the displayed state; see View.
func (r Row) Shown() string { return r.in.shownOf(r.Experiment, r.entry) }

// RowOrder sorts rows that are ordered by ID. Rows that compare equal keep that order.
type RowOrder func(rows []Row, descending bool)

// OrderBy returns a RowOrder that sorts by a key, which is computed once for each row.
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

// Page returns the experiments of a page. It copies only these.
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

// Named returns at most limit experiments whose ID or name begins with text: those with exactly this name
// first, then the newest.
func (v *views) Named(text string, limit int) []View {
	var exact, others []View
	for _, e := range slices.Backward(v.reg.all()) {
		r := Row{e.stored(), e, v.shared}
		switch {
		case r.Name == text && len(exact) < limit:
			exact = append(exact, View{Experiment: *r.Experiment, Shown: r.Shown()})
		case len(others) < limit && (strings.HasPrefix(r.Name, text) || strings.HasPrefix(strconv.Itoa(int(r.ID)), text)):
			others = append(others, View{Experiment: *r.Experiment, Shown: r.Shown()})
		}
	}
	all := append(exact, others...)
	return all[:min(limit, len(all))]
}

// Rows returns the experiments that match f, ordered by ID.
func (v *views) Rows(f Filter) []Row {
	all := v.reg.all()
	rows := make([]Row, 0, len(all))
	projects := projects{places: v.cfg.Places, known: map[int32]project{}}
	for _, e := range all {
		if r := (Row{e.stored(), e, v.shared}); f.leavesIn(r.Experiment) && f.leavesPlace(r.Experiment, projects) && f.leavesState(r) {
			rows = append(rows, r)
		}
	}
	return rows
}

// project is what a Filter compares of a project.
type project struct {
	workspace int32
	archived  bool
}

// projects looks each project up once.
type projects struct {
	places Places
	known  map[int32]project
}

func (p projects) find(id int32) project {
	found, known := p.known[id]
	if !known {
		if at, err := p.places.Project(id); err == nil {
			found = project{at.WorkspaceID, at.Archived}
		}
		p.known[id] = found
	}
	return found
}

// Filter selects experiments. Empty fields match all.
type Filter struct {
	// Archived also applies to the project and the workspace: an experiment is archived if one of the
	// three is.
	Archived *bool
	Users    []string
	UserIDs  []int32
	// Name and Description match substrings and ignore case.
	Name        string
	Description string
	// Labels must all be present.
	Labels []string
	Pools  []string
	// States are displayed states. ACTIVE matches an active experiment in any displayed state.
	States  []string
	Project int32
	// Workspace is the workspace of the project.
	Workspace int32
	// IDs and NotIDs are sets. FromID and UntilID are inclusive bounds; 0 means no bound.
	IDs, NotIDs     []int32
	FromID, UntilID int32
}

// leavesIn reports whether the experiment matches all criteria except the state and Archived.
func (f Filter) leavesIn(x *record.Experiment) bool {
	return f.leavesID(x.ID) && f.leavesUser(x) && f.leavesText(x) && (f.Project == 0 || f.Project == x.ProjectID) &&
		(len(f.Pools) == 0 || slices.Contains(f.Pools, x.Queue.Pool))
}

// leavesPlace reports whether the experiment matches Archived and Workspace.
func (f Filter) leavesPlace(x *record.Experiment, all projects) bool {
	if f.Archived == nil && f.Workspace == 0 {
		return true
	}
	in := all.find(x.ProjectID)
	return (f.Archived == nil || *f.Archived == (x.Archived || in.archived)) && (f.Workspace == 0 || f.Workspace == in.workspace)
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
