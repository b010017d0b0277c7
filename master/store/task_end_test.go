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

// testTaskEnds compares pages of the history, for several filters, with tasks filtered by the test.
func testTaskEnds(t *testing.T, fresh func(t *testing.T) store.Config) {
	s := storetest.Open(t, fresh(t))
	ends := drawEnds(300)
	writeRows(t, s, func(tx *store.Tx) error {
		for _, e := range append(ends, ends[0]) {
			if err := store.AddTaskEnd(tx, e); err != nil {
				return err
			}
		}
		return nil
	})
	writeRows(t, s, func(tx *store.Tx) error {
		for _, e := range append(ends[:50:50], store.TaskEnd{ID: "missing"}) {
			if err := store.DeleteTaskEnd(tx, e); err != nil {
				return err
			}
		}
		return nil
	})
	ends = ends[50:]
	for _, q := range []store.TaskEndQuery{
		{},
		{Since: 40},
		{States: []string{"failed"}},
		{States: []string{"failed", "killed"}, UserIDs: []int32{1, 2}, Pools: []string{"gpu"}},
		{UserIDs: []int32{2}},
		{UserIDs: []int32{1, 2}, Pools: []string{"gpu", "cpu"}},
		{Pools: []string{"cpu"}, Since: 20},
		{Labels: []string{"team=vision"}},
		{Labels: []string{"team=vision", "size=big"}, States: []string{"succeeded"}, UserIDs: []int32{1}, Pools: []string{"cpu", "gpu"}},
		{Labels: []string{"team=none"}},
	} {
		for _, limit := range []int{1, 7, 1000} {
			q.Limit = limit
			checkEnds(t, s, ends, q)
		}
	}
}

func drawEnds(n int) []store.TaskEnd {
	r := rand.New(rand.NewPCG(1, 2))
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	var out []store.TaskEnd
	for i := range n {
		e := store.TaskEnd{
			ID: fmt.Sprintf("%08x-%d", r.Uint32(), i), Ended: 1 + r.Int64N(80), UserID: 1 + r.Int32N(3),
			Pool: pick("cpu", "gpu", "tpu"), State: pick("succeeded", "failed", "killed"),
		}
		if r.IntN(2) == 0 {
			e.Labels = []string{"team=" + pick("vision", "speech"), "size=" + pick("big", "small")}
		}
		out = append(out, e)
	}
	return out
}

// checkEnds reads all pages of a query.
func checkEnds(t *testing.T, s *store.Store, ends []store.TaskEnd, q store.TaskEndQuery) {
	t.Helper()
	var got []store.TaskEndKey
	for {
		page, err := store.TaskEnds(t.Context(), s, q)
		if err != nil {
			t.Fatalf("%+v: %v", q, err)
		}
		got = append(got, page...)
		if len(page) < q.Limit {
			break
		}
		q.Before = page[len(page)-1]
	}
	if want := filterEnds(ends, q); !slices.Equal(got, want) {
		t.Errorf("%+v: got %d tasks, want %d, or another order", q, len(got), len(want))
	}
}

func filterEnds(ends []store.TaskEnd, q store.TaskEndQuery) (want []store.TaskEndKey) {
	for _, e := range ends {
		all := !slices.ContainsFunc(q.Labels, func(l string) bool { return !slices.Contains(e.Labels, l) })
		if all && e.Ended >= q.Since && anyOf(q.States, e.State) && anyOf(q.UserIDs, e.UserID) && anyOf(q.Pools, e.Pool) {
			want = append(want, store.TaskEndKey{Ended: e.Ended, ID: e.ID})
		}
	}
	slices.SortFunc(want, func(a, b store.TaskEndKey) int {
		return cmp.Or(cmp.Compare(b.Ended, a.Ended), strings.Compare(b.ID, a.ID))
	})
	return want
}

func anyOf[T comparable](list []T, v T) bool { return len(list) == 0 || slices.Contains(list, v) }
