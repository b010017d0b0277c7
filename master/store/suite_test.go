package store_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/test/postgrestest"
	"github.com/det-deploy/det-deploy/test/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type fruit struct {
	Name string `json:"name"`
	Size int    `json:"size"`
}

var fruits = store.Collection[fruit]{Kind: "fruit"}

// suite holds the tests for both databases. fresh returns the configuration of a new store.
var suite = []struct {
	name string
	run  func(t *testing.T, fresh func(t *testing.T) store.Config)
}{
	{"documents come back by id, parent and time", testDocuments},
	{"documents are read by number, a page at a time", testPages},
	{"a failing write is undone alone", testFailsAlone},
	{"writes before and behind a failing one are done once", testDoneOnce},
	{"writes that are too large for one transaction make several", testManyParts},
	{"writes need the lease", testNeedsLease},
	{"a cancelled caller is not done, and hurts nobody", testCancelled},
	{"concurrent writes are all there after reopening", testConcurrent},
	{"an empty and a broken id are refused", testRefusedKeys},
	{"a document that is not ours is named", testUndecodable},
	{"what a start reads is found without a time", testUndated},
	{"log chunks are found by line", testChunks},
	{"tasks are listed in every order, and counted", testTaskRows},
	{"tasks that ended first are found first", testEndedRows},
	{"the history of tasks is filtered and paged", testTaskEnds},
	{"keys are found by their beginning", testBeginnings},
	{"a transaction sees its own writes", testReadsOwnWrites},
	{"who asked hears how a write ended", testOnEnd},
	{"bytes of users are counted with the writes that are done", testUserBytes},
	{"blobs stay as long as a set includes them", testBlobs},
	{"a store keeps its name", testKeepsName},
	{"a closed store refuses", testClosed},
}

func TestSQLite(t *testing.T) {
	t.Parallel()
	fresh := func(t *testing.T) store.Config {
		return store.Config{Path: filepath.Join(t.TempDir(), "a dir %41?#", "store.db")}
	}
	runSuite(t, fresh)
}

func TestPostgres(t *testing.T) {
	t.Parallel()
	server := postgrestest.Start(t, postgrestest.Options{})
	var mu sync.Mutex // guards the server's count of databases
	fresh := func(*testing.T) store.Config {
		mu.Lock()
		defer mu.Unlock()
		return store.Config{URL: store.URL(server.URL())}
	}
	// The group keeps the server running until its parallel tests have ended.
	t.Run("suite", func(t *testing.T) { runSuite(t, fresh) })
}

func runSuite(t *testing.T, fresh func(t *testing.T) store.Config) {
	for _, c := range suite {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(t, fresh)
		})
	}
}

func put(t *testing.T, s *store.Store, d store.Doc[fruit]) {
	t.Helper()
	if err := s.Write(t.Context(), func(tx *store.Tx) error { return fruits.Put(tx, d.ID, d.Parent, d.At, d.Value) }); err != nil {
		t.Fatal(err)
	}
}

func ids(t *testing.T) func(docs []store.Doc[fruit], err error) string {
	return func(docs []store.Doc[fruit], err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, d := range docs {
			all = append(all, d.ID)
		}
		return strings.Join(all, " ")
	}
}

func testDocuments(t *testing.T, fresh func(t *testing.T) store.Config) {
	s := storetest.Open(t, fresh(t))
	ctx := t.Context()
	day := time.Date(2026, 11, 21, 4, 5, 6, 789012000, time.UTC)
	put(t, s, store.Doc[fruit]{ID: "b", Parent: "tree", At: day, Value: fruit{"pear", 1}})
	put(t, s, store.Doc[fruit]{ID: "B", Parent: "tree", At: day, Value: fruit{"apple", 2}})
	put(t, s, store.Doc[fruit]{ID: "a", Parent: "bush", At: day.Add(time.Microsecond), Value: fruit{"berry", 3}})
	put(t, s, store.Doc[fruit]{ID: "z", Parent: "", At: time.Time{}, Value: fruit{"none", 4}})
	put(t, s, store.Doc[fruit]{ID: "b", Parent: "tree", At: day, Value: fruit{"pear", 5}})

	got, found, err := fruits.Get(ctx, s, "b")
	want := store.Doc[fruit]{ID: "b", Parent: "tree", At: day, Value: fruit{"pear", 5}}
	if err != nil || !found || !cmp.Equal(got, want) {
		t.Fatalf("got %v found %t error %v, want %v", got, found, err, want)
	}
	if _, found, err := fruits.Get(ctx, s, "nobody"); found || err != nil {
		t.Fatalf("got found %t error %v for an id that is not there", found, err)
	}
	check := func(what, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: got %q, want %q", what, got, want)
		}
	}
	list := ids(t)
	check("all", list(fruits.All(ctx, s)), "z B b a")
	check("by parent", list(fruits.ByParent(ctx, s, "tree")), "B b")
	check("by parents", list(fruits.ByParents(ctx, s, []string{"bush", "nothing", "tree"})), "B b a")
	check("by no parents", list(fruits.ByParents(ctx, s, nil)), "")
	check("by ids", list(fruits.ByIDs(ctx, s, []string{"b", "nothing", "z"})), "z b")
	many := make([]string, 1200)
	many[1100] = "a"
	check("by many ids", list(fruits.ByIDs(ctx, s, many)), "a")
	check("before", list(fruits.Before(ctx, s, day.Add(time.Microsecond))), "B b")
	check("after", list(fruits.After(ctx, s, day)), "a")
	if err := s.Write(ctx, func(tx *store.Tx) error {
		n, err := fruits.DeleteByParent(tx, "tree")
		if n != 2 {
			t.Errorf("got %d deleted, want 2", n)
		}
		return errors.Join(err, fruits.Delete(tx, "z"), fruits.Delete(tx, "z"))
	}); err != nil {
		t.Fatal(err)
	}
	check("after deleting", list(fruits.All(ctx, s)), "a")
	if err := s.Write(ctx, func(tx *store.Tx) error {
		there, err := fruits.Replace(tx, "a", fruit{"berry", 6})
		gone, missing := fruits.Replace(tx, "z", fruit{})
		if !there || gone {
			t.Errorf("got %t and %t, want one that is there replaced and none made", there, gone)
		}
		return errors.Join(err, missing)
	}); err != nil {
		t.Fatal(err)
	}
	want = store.Doc[fruit]{ID: "a", Parent: "bush", At: day.Add(time.Microsecond), Value: fruit{"berry", 6}}
	if all, err := fruits.All(ctx, s); err != nil || !cmp.Equal(all, []store.Doc[fruit]{want}) {
		t.Errorf("replaced: got %v, %v, want %v", all, err, want)
	}
}

func testFailsAlone(t *testing.T, fresh func(t *testing.T) store.Config) {
	s := storetest.Open(t, fresh(t))
	mine := errors.New("mine")
	var wg sync.WaitGroup
	for i := range 60 {
		wg.Go(func() {
			err := s.Write(t.Context(), func(tx *store.Tx) error {
				if err := fruits.Put(tx, strconv.Itoa(i), "", time.Time{}, fruit{Size: i}); err != nil {
					return err
				}
				if i%3 == 0 {
					return mine
				}
				return nil
			})
			if (i%3 == 0) != errors.Is(err, mine) || (i%3 != 0 && err != nil) {
				t.Errorf("write %d: got %v", i, err)
			}
		})
	}
	wg.Wait()
	docs, err := fruits.All(t.Context(), s)
	if err != nil || len(docs) != 40 {
		t.Fatalf("got %d documents, error %v, want 40", len(docs), err)
	}
}

// writeTogether queues writes while the writer is blocked, so that they form one group, and returns
// their results.
func writeTogether(t *testing.T, s *store.Store, fns []func(*store.Tx) error) []error {
	t.Helper()
	inside, leave := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := s.Write(t.Context(), func(*store.Tx) error { close(inside); <-leave; return nil }); err != nil {
			t.Error(err)
		}
	})
	<-inside
	errs := make([]error, len(fns))
	for i, fn := range fns {
		wg.Go(func() { errs[i] = s.Write(t.Context(), fn) })
	}
	for s.Queued() < len(fns) {
		runtime.Gosched()
	}
	close(leave)
	wg.Wait()
	return errs
}

func testDoneOnce(t *testing.T, fresh func(t *testing.T) store.Config) {
	s := storetest.Open(t, fresh(t))
	put(t, s, store.Doc[fruit]{ID: "sum"})
	mine := errors.New("mine")
	const writes = 40
	var fns []func(*store.Tx) error
	called := make([]int, writes)
	for i := range writes {
		fns = append(fns, func(tx *store.Tx) error {
			called[i]++
			if i%5 == 1 {
				return mine // it has changed nothing
			}
			sum, _, err := fruits.Get(t.Context(), tx, "sum")
			if err != nil {
				return err
			}
			sum.Value.Size++
			if err := fruits.Put(tx, "sum", "", time.Time{}, sum.Value); err != nil {
				return err
			}
			switch i % 5 {
			case 2:
				return mine
			case 3: // it already exists
				row := store.TaskRow{ID: strconv.Itoa(i), Username: "u"}
				return store.AddTaskRows(tx, []store.TaskRow{row, row})
			}
			return nil
		})
	}
	done := 0
	for i, err := range writeTogether(t, s, fns) {
		switch {
		case called[i] != 1:
			t.Errorf("write %d: called %d times, want once", i, called[i])
		case i%5 == 1 || i%5 == 2:
			if !errors.Is(err, mine) {
				t.Errorf("write %d: got %v, want its own error", i, err)
			}
		case (i%5 == 3) != (err != nil):
			t.Errorf("write %d: got %v", i, err)
		case err == nil:
			done++
		}
	}
	if sum, _, err := fruits.Get(t.Context(), s, "sum"); err != nil || sum.Value.Size != done {
		t.Errorf("got a sum of %d, %v, want the %d writes that were done", sum.Value.Size, err, done)
	}
}

func testManyParts(t *testing.T, fresh func(t *testing.T) store.Config) {
	s := storetest.Open(t, fresh(t))
	large := strings.Repeat("x", 3<<20)
	var fns []func(*store.Tx) error
	for i := range 8 {
		fns = append(fns, func(tx *store.Tx) error {
			return fruits.Put(tx, strconv.Itoa(i), "", time.Time{}, fruit{Name: large, Size: i})
		})
	}
	for i, err := range writeTogether(t, s, fns) {
		if err != nil {
			t.Errorf("write %d: %v", i, err)
		}
	}
	if got := ids(t)(fruits.All(t.Context(), s)); got != "0 1 2 3 4 5 6 7" {
		t.Errorf("got %q, want all", got)
	}
}

func testNeedsLease(t *testing.T, fresh func(t *testing.T) store.Config) {
	s, err := store.Open(t.Context(), fresh(t))
	if err != nil {
		t.Fatal(err)
	}
	defer closeStore(t, s)
	if err := s.Write(t.Context(), func(*store.Tx) error { return nil }); !errors.Is(err, store.ErrNoLease) {
		t.Fatalf("got %v, want ErrNoLease", err)
	}
	if _, err := s.Acquire(t.Context(), "me"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Acquire(t.Context(), "me"); err == nil {
		t.Fatal("acquiring twice in one process is accepted")
	}
	put(t, s, store.Doc[fruit]{ID: "a", Parent: "", At: time.Time{}, Value: fruit{}})
}

func testCancelled(t *testing.T, fresh func(t *testing.T) store.Config) {
	s := storetest.Open(t, fresh(t))
	ctx, cancel := context.WithCancel(t.Context())
	inside, leave := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() { // blocks the writer, so that the next write waits in the queue
		if err := s.Write(ctx, func(tx *store.Tx) error {
			close(inside)
			<-leave
			return fruits.Put(tx, "begun", "", time.Time{}, fruit{})
		}); err != nil {
			t.Errorf("a write that had begun: got %v, want it done", err)
		}
	})
	<-inside
	queued := make(chan error)
	go func() {
		queued <- s.Write(ctx, func(tx *store.Tx) error { return fruits.Put(tx, "queued", "", time.Time{}, fruit{}) })
	}()
	cancel()
	if err := <-queued; !errors.Is(err, context.Canceled) {
		t.Errorf("a write in the queue: got %v, want cancelled", err)
	}
	close(leave)
	wg.Wait()
	put(t, s, store.Doc[fruit]{ID: "later", Parent: "", At: time.Time{}, Value: fruit{}})
	if got := ids(t)(fruits.All(t.Context(), s)); got != "begun later" {
		t.Errorf("got %q, want begun and later", got)
	}
}

func testConcurrent(t *testing.T, fresh func(t *testing.T) store.Config) {
	cfg := fresh(t)
	s := storetest.Open(t, cfg)
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for j := range 25 {
				put(t, s, store.Doc[fruit]{ID: strconv.Itoa(i) + "." + strconv.Itoa(j), Parent: "", At: time.Time{}, Value: fruit{Size: j}})
			}
		})
	}
	wg.Wait()
	closeStore(t, s)
	docs, err := fruits.All(t.Context(), storetest.Open(t, cfg))
	if err != nil || len(docs) != 400 {
		t.Fatalf("got %d documents, error %v, want 400", len(docs), err)
	}
}

func testRefusedKeys(t *testing.T, fresh func(t *testing.T) store.Config) {
	s := storetest.Open(t, fresh(t))
	for _, id := range []string{"", "a\x00b", "\xff"} {
		err := s.Write(t.Context(), func(tx *store.Tx) error { return fruits.Put(tx, id, "", time.Time{}, fruit{}) })
		if err == nil || !strings.Contains(err.Error(), "id: must") {
			t.Errorf("id %q: got %v, want an error with id", id, err)
		}
	}
}

func testUndecodable(t *testing.T, fresh func(t *testing.T) store.Config) {
	s := storetest.Open(t, fresh(t))
	other := store.Collection[[]int]{Kind: "fruit"}
	if err := s.Write(t.Context(), func(tx *store.Tx) error {
		return other.Put(tx, "odd", "", time.Time{}, []int{1})
	}); err != nil {
		t.Fatal(err)
	}
	_, err := fruits.All(t.Context(), s)
	if err == nil || !strings.Contains(err.Error(), `fruit "odd"`) {
		t.Fatalf("got %v, want an error that names kind and id", err)
	}
}

func testChunks(t *testing.T, fresh func(t *testing.T) store.Config) {
	s := storetest.Open(t, fresh(t))
	ctx := t.Context()
	if err := s.Write(ctx, func(tx *store.Tx) error {
		for _, pos := range []int64{0, 10, 20, 30} {
			c := store.Chunk{Task: "t", Pos: pos, Container: "c", FromAt: pos + 1, ToAt: pos + 9, Lines: 10, Data: []byte{byte(pos), 0, 255}}
			if err := store.PutChunk(tx, c); err != nil {
				return err
			}
		}
		return store.SetLogMark(tx, "t", "c", 40)
	}); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		q    store.ChunkRange
		want []int64
	}{
		"from the start":    {store.ChunkRange{Task: "t", Limit: 2}, []int64{0, 10}},
		"inside a chunk":    {store.ChunkRange{Task: "t", From: 15, Limit: 2}, []int64{10, 20}},
		"past the end":      {store.ChunkRange{Task: "t", From: 99, Limit: 9}, []int64{30}},
		"backwards":         {store.ChunkRange{Task: "t", From: 25, Backwards: true, Limit: 9}, []int64{20, 10, 0}},
		"after a time":      {store.ChunkRange{Task: "t", After: 19, Limit: 9}, []int64{20, 30}},
		"before a time":     {store.ChunkRange{Task: "t", Before: 12, Limit: 9}, []int64{0, 10}},
		"of another task":   {store.ChunkRange{Task: "u", Limit: 9}, nil},
		"backwards, before": {store.ChunkRange{Task: "t", From: 99, Before: 11, Backwards: true, Limit: 9}, []int64{0}},
	} {
		chunks, err := store.Chunks(ctx, s, c.q)
		if err != nil {
			t.Fatal(err)
		}
		var got []int64
		for _, c := range chunks {
			got = append(got, c.Pos)
		}
		if d := cmp.Diff(got, c.want); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	last, found, err := store.LastChunk(ctx, s, "t")
	if err != nil || !found || last.Pos != 30 || !cmp.Equal(last.Data, []byte{30, 0, 255}) {
		t.Errorf("last chunk: got %v found %t error %v", last, found, err)
	}
	if err := s.Write(ctx, func(tx *store.Tx) error { return store.DeleteLogs(tx, "t") }); err != nil {
		t.Fatal(err)
	}
	if next, err := store.LogMark(ctx, s, "t", "c"); next != 0 || err != nil {
		t.Errorf("mark after deleting: got %d error %v", next, err)
	}
}

func testReadsOwnWrites(t *testing.T, fresh func(t *testing.T) store.Config) {
	s := storetest.Open(t, fresh(t))
	var kept *store.Tx
	if err := s.Write(t.Context(), func(tx *store.Tx) error {
		kept = tx
		if err := fruits.Put(tx, "a", "", time.Time{}, fruit{Size: 7}); err != nil {
			return err
		}
		d, found, err := fruits.Get(t.Context(), tx, "a")
		if !found || d.Value.Size != 7 {
			t.Errorf("inside: got %v found %t", d, found)
		}
		if _, found, err := fruits.Get(t.Context(), s, "a"); found || err != nil {
			t.Errorf("outside: got found %t error %v before the commit", found, err)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if err := fruits.Delete(kept, "a"); err == nil {
		t.Error("a transaction that has ended is accepted")
	}
}

func testOnEnd(t *testing.T, fresh func(t *testing.T) store.Config) {
	s := storetest.Open(t, fresh(t))
	mine := errors.New("mine")
	var wg sync.WaitGroup
	for i := range 60 {
		wg.Go(func() {
			var heard []error
			err := s.Write(t.Context(), func(tx *store.Tx) error {
				tx.OnEnd(func(err error) { heard = append(heard, err) })
				tx.OnEnd(func(err error) { heard = append(heard, err) })
				if i%3 == 0 {
					return mine
				}
				return fruits.Put(tx, strconv.Itoa(i), "", time.Time{}, fruit{Size: i})
			})
			if len(heard) != 2 || !errors.Is(heard[0], err) || !errors.Is(heard[1], err) {
				t.Errorf("write %d: got %v, want the answer %v twice, before it was given", i, heard, err)
			}
		})
	}
	wg.Wait()
}

func testKeepsName(t *testing.T, fresh func(t *testing.T) store.Config) {
	cfg := fresh(t)
	s := storetest.Open(t, cfg)
	first := s.Meta()
	if first.ClusterID == "" || first.CreatedAt.IsZero() || first.Schema < 1 {
		t.Fatalf("got %+v", first)
	}
	closeStore(t, s)
	again := storetest.Open(t, cfg)
	if d := cmp.Diff(again.Meta(), first); d != "" {
		t.Fatal(d)
	}
}

func testClosed(t *testing.T, fresh func(t *testing.T) store.Config) {
	s := storetest.Open(t, fresh(t))
	closeStore(t, s)
	closeStore(t, s)
	if err := s.Write(t.Context(), func(*store.Tx) error { return nil }); !errors.Is(err, store.ErrClosed) {
		t.Fatalf("got %v, want ErrClosed", err)
	}
}

func closeStore(t *testing.T, s *store.Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Errorf("close store: %v", err)
	}
}

func testPages(t *testing.T, fresh func(t *testing.T) store.Config) {
	s := storetest.Open(t, fresh(t))
	if _, found, err := fruits.Last(t.Context(), s); found || err != nil {
		t.Errorf("of nothing: got %v, %v, want none", found, err)
	}
	early := time.UnixMicro(1000)
	for n := range 12 { // out of order, and with a decreasing clock
		k := (n*5 + 3) % 12
		put(t, s, store.Doc[fruit]{ID: fmt.Sprintf("%016d", k), At: early.Add(-time.Duration(k) * time.Microsecond), Value: fruit{Size: k}})
	}
	var got []int
	for after := ""; ; {
		page, err := fruits.Behind(t.Context(), s, after, early.Add(-9*time.Microsecond), 4)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		for _, d := range page {
			got, after = append(got, d.Value.Size), d.ID
		}
	}
	if d := cmp.Diff(got, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}); d != "" {
		t.Errorf("(-got +want):\n%s", d)
	}
	got = nil
	for before := ""; ; {
		page, err := fruits.Ahead(t.Context(), s, before, early.Add(-9*time.Microsecond), 4)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		for _, d := range page {
			got, before = append(got, d.Value.Size), d.ID
		}
	}
	if d := cmp.Diff(got, []int{9, 8, 7, 6, 5, 4, 3, 2, 1, 0}); d != "" {
		t.Errorf("backwards (-got +want):\n%s", d)
	}
	if last, found, err := fruits.Last(t.Context(), s); err != nil || !found || last.Value.Size != 11 {
		t.Errorf("got %v, %v, %v, want the last", last, found, err)
	}
	testPagesOfAParent(t, s)
}

func testPagesOfAParent(t *testing.T, s *store.Store) {
	for _, n := range []int{4, 2, 0, 3, 1} { // At has the opposite order
		at := time.UnixMicro(int64(100 - n))
		put(t, s, store.Doc[fruit]{ID: fmt.Sprintf("%d-of-a", n), Parent: "a", At: at, Value: fruit{Size: n}})
		put(t, s, store.Doc[fruit]{ID: fmt.Sprintf("%d-of-b", n), Parent: "b", At: at, Value: fruit{Size: 10 * n}})
	}
	page, err := fruits.PageByParent(t.Context(), s, "a", 1, 3)
	if err != nil || len(page) != 3 || page[0].Value.Size != 1 || page[2].Value.Size != 3 {
		t.Errorf("got %v, %v, want the second to the fourth", page, err)
	}
	if page, err = fruits.PageByParent(t.Context(), s, "a", 4, 3); err != nil || len(page) != 1 {
		t.Errorf("got %v, %v, want the last alone", page, err)
	}
	ids, err := fruits.IDsByParent(t.Context(), s, "b")
	if d := cmp.Diff(ids, []string{"0-of-b", "1-of-b", "2-of-b", "3-of-b", "4-of-b"}); d != "" || err != nil {
		t.Errorf("got %v (-got +want):\n%s", err, d)
	}
}
