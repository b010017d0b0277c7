package store_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/test/storetest"
)

// BenchmarkMillionTasks measures what a person waits for with 1,000,000 listed tasks and as many in the
// history: the lookup of the beginning of an ID, which must stay below 50 ms, and pages of the history.
func BenchmarkMillionTasks(b *testing.B) {
	const tasks = 1_000_000
	s := storetest.Open(b, store.Config{Path: filepath.Join(b.TempDir(), "store.db")})
	drawn := drawRows(tasks)
	for part, rows := range slices.Collect(slices.Chunk(drawn, 5_000)) {
		writeRows(b, s, func(tx *store.Tx) error { return addListedAndEnded(tx, rows, part*5_000) })
	}
	typed := drawn[tasks/2]
	b.Run("a beginning", func(b *testing.B) {
		for b.Loop() {
			listed, err := store.TaskIDsBeginning(b.Context(), s, typed.ID[:4], 20)
			ended, err2 := store.EndedTaskIDsBeginning(b.Context(), s, typed.ID[:4], 20)
			if err != nil || err2 != nil || len(listed) == 0 || len(ended) == 0 {
				b.Fatalf("got %q, %v, %q, %v", listed, err, ended, err2)
			}
		}
		reportMillis(b)
	})
	for name, q := range map[string]store.TaskEndQuery{
		"the latest":             {},
		"of a state":             {States: []string{"failed"}},
		"of a user":              {UserIDs: []int32{1}},
		"of a label":             {Labels: []string{"run=7"}},
		"of a pool":              {Pools: []string{"a"}},
		"of a state and a user":  {States: []string{"failed"}, UserIDs: []int32{1}},
		"of the middle":          {Before: store.TaskEndKey{Ended: tasks / 2, ID: "x"}},
		"of a pool without any":  {Pools: []string{"none"}},
		"of a state without any": {States: []string{"lost"}},
	} {
		q.Limit = 20
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := store.TaskEnds(b.Context(), s, q); err != nil {
					b.Fatal(err)
				}
			}
			reportMillis(b)
		})
	}
}

// addListedAndEnded lists tasks, and adds them to the history with ends from the given one on. One of 100
// has failed, and 100 labels have as many tasks each.
func addListedAndEnded(tx *store.Tx, rows []store.TaskRow, at int) error {
	for i, r := range rows {
		if _, err := store.AddTaskRow(tx, r); err != nil {
			return err
		}
		n := at + i
		state := "succeeded"
		if n%100 == 0 {
			state = "failed"
		}
		err := store.AddTaskEnd(tx, store.TaskEnd{
			ID: r.ID, Ended: int64(n) + 1, UserID: r.UserID, Pool: r.Pool, State: state, Labels: []string{fmt.Sprintf("run=%d", n%100)},
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func reportMillis(b *testing.B) {
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(b.Elapsed().Seconds()*1000/float64(b.N), "ms")
}
