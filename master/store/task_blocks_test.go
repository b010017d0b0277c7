package store_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/delay"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/test/storetest"
)

// blockRows makes blocks so small that a few hundred rows have many.
const blockRows = 4

// testTaskBlocks compares pages, while rows come, move and go, with rows that are sorted here.
func testTaskBlocks(t *testing.T, fresh func(t *testing.T) store.Config) {
	s := storetest.Open(t, fresh(t))
	s.LimitBlocks(blockRows)
	rows, later := splitRows(drawRows(500), 200)
	addAll(t, s, rows)
	checkAllPages(t, s, rows) // not from blocks yet, or from some
	awaitBlocks(t, s)
	checkAllPages(t, s, rows)
	for step, some := range slices.Collect(slices.Chunk(later, 60)) {
		addAll(t, s, some)
		rows = append(rows, some...)
		rows = removeSome(t, s, rows, step)
		failWrite(t, s, step, rows[0])
		checkAllPages(t, s, rows)
		awaitBlocks(t, s)
		checkAllPages(t, s, rows)
	}
	for _, r := range rows[100:] {
		writeRows(t, s, func(tx *store.Tx) error { return store.DeleteTaskRow(tx, r.ID) })
	}
	if sizes, _ := s.Blocks(); len(sizes) == 0 || slices.ContainsFunc(sizes[string(store.BySubmission)], func(n int) bool { return n <= 0 }) {
		t.Errorf("empty blocks are kept: %v", sizes)
	}
	checkAllPages(t, s, rows[:100])
}

func splitRows(rows []store.TaskRow, n int) (some, rest []store.TaskRow) {
	return slices.Clone(rows[:len(rows)-n]), rows[len(rows)-n:]
}

func addAll(t *testing.T, s *store.Store, rows []store.TaskRow) {
	t.Helper()
	writeRows(t, s, func(tx *store.Tx) error {
		for _, r := range rows {
			if added, err := store.AddTaskRow(tx, r); err != nil || !added {
				return fmt.Errorf("added %t: %w", added, err)
			}
		}
		_, err := store.AddTaskRow(tx, rows[0]) // again, which is nothing
		return err
	})
}

// removeSome deletes a third of the rows and moves some to another pool.
func removeSome(t *testing.T, s *store.Store, rows []store.TaskRow, step int) []store.TaskRow {
	t.Helper()
	kept := rows[:0]
	writeRows(t, s, func(tx *store.Tx) error {
		for i, r := range rows {
			switch (i + step) % 9 {
			case 0, 1, 2:
				if err := store.DeleteTaskRow(tx, r.ID); err != nil {
					return err
				}
				continue
			case 3:
				r.Pool = []string{"a", "zoo"}[step%2]
				if err := store.MoveTaskRow(tx, r.ID, r.Pool); err != nil {
					return err
				}
			}
			kept = append(kept, r)
		}
		return store.DeleteTaskRow(tx, "nothing")
	})
	return kept
}

// failWrite changes rows in a write that fails, in every second step.
func failWrite(t *testing.T, s *store.Store, step int, listed store.TaskRow) {
	t.Helper()
	if step%2 == 0 {
		return
	}
	refused := errors.New("refused")
	err := s.Write(t.Context(), func(tx *store.Tx) error {
		_, err := store.AddTaskRow(tx, store.TaskRow{ID: "never", UserID: listed.UserID, Workspace: listed.Workspace, Username: listed.Username})
		return errors.Join(err, store.DeleteTaskRow(tx, listed.ID), refused)
	})
	if !errors.Is(err, refused) {
		t.Fatal(err)
	}
}

func checkAllPages(t *testing.T, s *store.Store, rows []store.TaskRow) {
	t.Helper()
	all, err := store.TaskGroups(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(all, func(a, b store.TaskGroup) int { return int(a.ID - b.ID) })
	for _, order := range []store.TaskOrder{store.BySubmission, store.ByTaskName, store.ByTaskPool, store.ByTaskID} {
		for _, n := range []int{1, 3, 6} {
			for _, descending := range []bool{false, true} {
				checkPages(t, s, rows, store.TaskPage{Groups: all[:n], All: all, Order: order, Descending: descending})
			}
		}
	}
}

// awaitBlocks waits until all blocks are small, which must be in use then.
func awaitBlocks(t *testing.T, s *store.Store) {
	t.Helper()
	for began := time.Now(); ; _ = delay.For(t.Context(), time.Millisecond) {
		if sizes, split := s.Blocks(); split {
			for _, name := range []store.TaskOrder{store.BySubmission, store.ByTaskName, store.ByTaskPool, store.ByTaskID} {
				if list := sizes[string(name)]; len(list) < 10 || slices.Max(list) > 2*blockRows {
					t.Fatalf("by %s there are blocks of %v rows", name, list)
				}
			}
			return
		}
		if time.Since(began) > time.Minute {
			t.Fatal("blocks are still being split after a minute")
		}
	}
}

// testBlocksBesideWrites reads pages while others write, and compares them when they have ended.
func testBlocksBesideWrites(t *testing.T, fresh func(t *testing.T) store.Config) {
	s := storetest.Open(t, fresh(t))
	s.LimitBlocks(blockRows)
	rows, later := splitRows(drawRows(500), 200)
	addAll(t, s, rows)
	var writers, readers sync.WaitGroup
	for some := range slices.Chunk(later, 50) {
		writers.Go(func() {
			for _, r := range some {
				err := s.Write(t.Context(), func(tx *store.Tx) error { _, err := store.AddTaskRow(tx, r); return err })
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	for _, gone := range rows[:100] {
		writers.Go(func() {
			if err := s.Write(t.Context(), func(tx *store.Tx) error { return store.DeleteTaskRow(tx, gone.ID) }); err != nil {
				t.Error(err)
			}
		})
	}
	done := make(chan struct{})
	for i := range 3 {
		readers.Go(func() { readPagesUntil(t, s, done, uint64(i)) }) //nolint:gosec // below 3
	}
	writers.Wait()
	close(done)
	readers.Wait()
	checkAllPages(t, s, append(rows[100:], later...))
	awaitBlocks(t, s)
	checkAllPages(t, s, append(rows[100:], later...))
}

func readPagesUntil(t *testing.T, s *store.Store, done <-chan struct{}, seed uint64) {
	t.Helper()
	rnd := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // what is drawn is no secret
	orders := []store.TaskOrder{store.BySubmission, store.ByTaskName, store.ByTaskPool, store.ByTaskID}
	for {
		select {
		case <-done:
			return
		default:
		}
		all, err := store.TaskGroups(t.Context(), s)
		if err != nil {
			t.Error(err)
			return
		}
		p := store.TaskPage{Groups: all[:1+rnd.IntN(len(all))], All: all, Order: orders[rnd.IntN(4)], Descending: rnd.IntN(2) == 0, Offset: rnd.IntN(300), Limit: 20}
		if _, err := store.TaskIDs(t.Context(), s, p); err != nil {
			t.Error(err)
		}
	}
}

// testBlocksOfGroups holds that the blocks of some groups are the same ones in whatever order the database has the
// groups, and that none are made for a page that is read faster by sorting what its groups have.
func testBlocksOfGroups(t *testing.T, fresh func(t *testing.T) store.Config) {
	s := storetest.Open(t, fresh(t))
	s.LimitBlocks(blockRows)
	rows := drawRows(500)
	for i := range 10 {
		rows = append(rows, store.TaskRow{ID: fmt.Sprintf("few-%d", i), UserID: 9, Username: "few", Name: "alpha", Submitted: int64(i)})
	}
	addAll(t, s, rows)
	all, err := store.TaskGroups(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	few := slices.DeleteFunc(slices.Clone(all), func(g store.TaskGroup) bool { return g.UserID != 9 })
	if _, err := store.TaskIDs(t.Context(), s, store.TaskPage{Groups: few, All: all, Order: store.ByTaskName, Limit: 10}); err != nil {
		t.Fatal(err)
	}
	if sizes, _ := s.Blocks(); len(sizes) > 0 {
		t.Errorf("counted %v, want nothing of a user of ten tasks", sizes)
	}
	some := slices.DeleteFunc(slices.Clone(all), func(g store.TaskGroup) bool { return g.UserID != 1 })
	for range 2 {
		checkPages(t, s, rows, store.TaskPage{Groups: some, All: all, Order: store.ByTaskName})
		slices.Reverse(some)
	}
	if sizes, _ := s.Blocks(); len(sizes) != 1 {
		t.Errorf("counted %v, want the tasks of a user once", sizes)
	}
}

// testBlocksTakenOver has a store opened, and its pages read, while another master still writes.
func testBlocksTakenOver(t *testing.T, cfg store.Config) {
	first := storetest.Open(t, cfg)
	rows, later := splitRows(drawRows(300), 100)
	addAll(t, first, rows)
	second, err := store.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeStore(t, second) })
	second.LimitBlocks(blockRows)
	checkAllPages(t, second, rows)
	awaitBlocks(t, second)
	addAll(t, first, later)
	closeStore(t, first)
	if _, err := second.Acquire(t.Context(), "second"); err != nil {
		t.Fatal(err)
	}
	checkAllPages(t, second, append(rows, later...))
}
