package store_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/test/storetest"
)

// testTaskRows compares pages, in every order and for several groups, with rows sorted by the test.
func testTaskRows(t *testing.T, fresh func(t *testing.T) store.Config) {
	s := storetest.Open(t, fresh(t))
	rows := drawRows(400)
	writeRows(t, s, func(tx *store.Tx) error {
		together := slices.DeleteFunc(slices.Clone(rows), func(r store.TaskRow) bool { return !sameGroup(r, rows[0]) })
		if err := store.AddTaskRows(tx, together); err != nil {
			return err
		}
		for _, r := range rows {
			if added, err := store.AddTaskRow(tx, r); err != nil || added == sameGroup(r, rows[0]) {
				return fmt.Errorf("added %t: %w", added, err)
			}
		}
		added, err := store.AddTaskRow(tx, rows[0])
		if added {
			t.Error("a task was listed twice")
		}
		return err
	})
	writeRows(t, s, func(tx *store.Tx) error {
		for i := range 100 {
			if err := store.DeleteTaskRow(tx, rows[i].ID); err != nil {
				return err
			}
		}
		rows[100].Pool = "zoo"
		return cmp.Or(store.DeleteTaskRow(tx, rows[0].ID), store.MoveTaskRow(tx, rows[100].ID, "zoo"))
	})
	rows = rows[100:]
	again := []store.TaskRow{{ID: "new", UserID: rows[0].UserID}, {ID: rows[0].ID, UserID: rows[0].UserID}}
	if err := s.Write(t.Context(), func(tx *store.Tx) error { return store.AddTaskRows(tx, again) }); err == nil {
		t.Error("a task was listed twice, with another")
	}
	all, err := store.TaskGroups(t.Context(), s)
	if err != nil || len(all) != 12 {
		t.Fatalf("got %d groups and %v", len(all), err)
	}
	for _, order := range []store.TaskOrder{store.BySubmission, store.ByTaskName, store.ByTaskPool, store.ByTaskID} {
		for _, n := range []int{1, 2, 12} {
			for _, descending := range []bool{false, true} {
				checkPages(t, s, rows, store.TaskPage{Groups: all[:n], All: all, Order: order, Descending: descending})
			}
		}
	}
}

func sameGroup(a, b store.TaskRow) bool {
	return a.UserID == b.UserID && a.Workspace == b.Workspace && a.Username == b.Username && a.Kind == b.Kind
}

func checkPages(t *testing.T, s *store.Store, rows []store.TaskRow, p store.TaskPage) {
	t.Helper()
	want := sortedRows(rows, p)
	total := 0
	for _, g := range p.Groups {
		total += g.Tasks
	}
	if total != len(want) {
		t.Errorf("counted %d tasks, want %d", total, len(want))
	}
	for _, at := range [][2]int{{0, 20}, {0, 1000}, {7, 1}, {len(want) / 2, 20}, {len(want) - 3, 20}, {len(want), 20}, {0, 0}} {
		p.Offset, p.Limit = at[0], at[1]
		got, err := store.TaskIDs(t.Context(), s, p)
		if err != nil {
			t.Fatal(err)
		}
		if part := want[p.Offset:min(p.Offset+p.Limit, len(want))]; !slices.Equal(got, part) {
			t.Errorf("%s of %d groups, descending %t, from %d at most %d: got %v, want %v", p.Order, len(p.Groups), p.Descending, p.Offset, p.Limit, got, part)
		}
	}
}

func sortedRows(rows []store.TaskRow, p store.TaskPage) []string {
	rows = slices.DeleteFunc(slices.Clone(rows), func(r store.TaskRow) bool {
		return !slices.ContainsFunc(p.Groups, func(g store.TaskGroup) bool {
			return g.UserID == r.UserID && g.Workspace == r.Workspace && g.Username == r.Username && g.Kind == r.Kind
		})
	})
	key := func(r store.TaskRow) string {
		return map[store.TaskOrder]string{store.ByTaskName: r.Name, store.ByTaskPool: r.Pool, store.ByTaskID: r.ID}[p.Order]
	}
	slices.SortFunc(rows, func(a, b store.TaskRow) int {
		return cmp.Or(strings.Compare(key(a), key(b)), cmp.Compare(a.Submitted, b.Submitted), strings.Compare(a.ID, b.ID))
	})
	if p.Descending {
		slices.Reverse(rows)
	}
	ids := make([]string, 0, len(rows))
	for _, r := range rows {
		ids = append(ids, r.ID)
	}
	return ids
}

// drawRows returns rows of twelve groups, some with equal keys.
func drawRows(n int) []store.TaskRow {
	rnd := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // test data, not a secret
	var rows []store.TaskRow
	for i := range n {
		user := int32(rnd.IntN(3)) //nolint:gosec // below 3
		rows = append(rows, store.TaskRow{
			ID: fmt.Sprintf("%08x-%d", rnd.Uint32(), i), UserID: user, Workspace: 1 + int32(rnd.IntN(2)), Username: fmt.Sprintf("user-%d", user), //nolint:gosec // below 2
			Name: []string{"alpha", "Beta", "ärger", "alpha-2", ""}[rnd.IntN(5)], Pool: []string{"a", "B"}[rnd.IntN(2)], Kind: []string{"", "shell"}[rnd.IntN(2)], Submitted: int64(rnd.IntN(50)),
		})
	}
	return rows
}

func testEndedRows(t *testing.T, fresh func(t *testing.T) store.Config) {
	s := storetest.Open(t, fresh(t))
	rows := drawRows(6)
	writeRows(t, s, func(tx *store.Tx) error {
		for i, r := range rows {
			if _, err := store.AddTaskRow(tx, r); err != nil {
				return err
			}
			if i > 0 {
				if err := store.EndTaskRow(tx, r.ID, int64(100-i)); err != nil {
					return err
				}
			}
		}
		return nil
	})
	got, err := store.EndedTaskRows(t.Context(), s, 99, 3)
	if want := []string{rows[5].ID, rows[4].ID, rows[3].ID}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v and %v, want the three that ended first", got, err)
	}
}

func writeRows(t testing.TB, s *store.Store, fn func(*store.Tx) error) {
	t.Helper()
	if err := s.Write(t.Context(), fn); err != nil {
		t.Fatal(err)
	}
}
