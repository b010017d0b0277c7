package store_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/test/postgrestest"
	"github.com/det-deploy/det-deploy/test/storetest"
)

// BenchmarkMiddlePage measures a page of 20 in the middle of many tasks, of all and of a third of
// them, on both databases. It must stay below 100 ms.
func BenchmarkMiddlePage(b *testing.B) {
	b.Run("sqlite", func(b *testing.B) {
		benchmarkMiddlePage(b, store.Config{Path: filepath.Join(b.TempDir(), "store.db")})
	})
	b.Run("postgresql", func(b *testing.B) {
		benchmarkMiddlePage(b, store.Config{URL: store.URL(postgrestest.Start(b, postgrestest.Options{Fsync: true}).URL())})
	})
}

func benchmarkMiddlePage(b *testing.B, cfg store.Config) {
	s := storetest.Open(b, cfg)
	drawn := drawRows(300_000)
	for rows := range slices.Chunk(drawn, 5_000) {
		writeRows(b, s, func(tx *store.Tx) error {
			for _, r := range rows {
				if _, err := store.AddTaskRow(tx, r); err != nil {
					return err
				}
			}
			return nil
		})
	}
	all, err := store.TaskGroups(b.Context(), s)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("by a beginning", func(b *testing.B) { benchmarkBeginnings(b, s, drawn[len(drawn)/2]) })
	for what, groups := range map[string][]store.TaskGroup{"of all": all, "of a user": ofUser(all, 1)} {
		for _, order := range []store.TaskOrder{store.BySubmission, store.ByTaskName} {
			page := store.TaskPage{Groups: groups, All: all, Order: order, Limit: 20}
			for _, g := range groups {
				page.Offset += g.Tasks / 2
			}
			b.Run(what+" by "+string(order), func(b *testing.B) { benchmarkPage(b, s, page) })
		}
	}
}

// benchmarkBeginnings measures the lookup of a typed name: tasks by the beginning of an ID, and of a name.
// It must stay below 50 ms.
func benchmarkBeginnings(b *testing.B, s *store.Store, row store.TaskRow) {
	for b.Loop() {
		ids, err := store.TaskIDsBeginning(b.Context(), s, row.ID[:min(len(row.ID), 4)], 20)
		if err != nil || len(ids) == 0 {
			b.Fatalf("got %q, %v", ids, err)
		}
		if ids, err = store.TaskIDsNamed(b.Context(), s, row.Name, 20); err != nil || len(ids) == 0 {
			b.Fatalf("got %q, %v", ids, err)
		}
	}
	b.ReportMetric(b.Elapsed().Seconds()*1000/float64(b.N), "ms/name")
}

func ofUser(all []store.TaskGroup, id int32) (some []store.TaskGroup) {
	for _, g := range all {
		if g.UserID == id {
			some = append(some, g)
		}
	}
	return some
}

func benchmarkPage(b *testing.B, s *store.Store, page store.TaskPage) {
	read := func() {
		if ids, err := store.TaskIDs(b.Context(), s, page); err != nil || len(ids) != page.Limit {
			b.Fatalf("got %d tasks, %v", len(ids), err)
		}
	}
	for b.Loop() {
		read()
	}
	b.ReportMetric(b.Elapsed().Seconds()*1000/float64(b.N), "ms/page")
}
