package log_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/det-deploy/det-deploy/master/log"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/test/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var noon = time.Date(2026, 11, 21, 12, 0, 0, 123456000, time.UTC)

func open(t *testing.T, cfg store.Config) (*log.Logs, *store.Store) {
	t.Helper()
	s := storetest.Open(t, cfg)
	l := log.New(t.Context(), s)
	t.Cleanup(l.Close)
	return l, s
}

func batch(container string, first int64, texts ...string) log.Batch {
	b := log.Batch{Task: "t", Allocation: "t.1", Container: container, Agent: "a1", FirstSeq: first}
	for i, text := range texts {
		b.Lines = append(b.Lines, log.Line{At: noon.Add(time.Duration(first+int64(i)) * time.Second), Stdtype: "stdout", Source: "task", Level: log.Info, Text: text})
	}
	return b
}

func appendBatch(t *testing.T, l *log.Logs, b log.Batch, want int64) {
	t.Helper()
	next, err := l.Append(t.Context(), b)
	if err != nil || next != want {
		t.Fatalf("append at %d: got next %d error %v, want %d", b.FirstSeq, next, err, want)
	}
}

func texts(t *testing.T, l *log.Logs, f log.Filter) string {
	t.Helper()
	var all []string
	for e, err := range l.Query(t.Context(), f) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e.Text)
	}
	return strings.Join(all, " ")
}

var suite = []struct {
	name string
	run  func(t *testing.T, cfg store.Config)
}{
	{"what is sent again is kept once", testResend},
	{"a gap is refused and says what is missing", testGap},
	{"numbers go on after a restart", testRestart},
	{"filters select", testFilters},
	{"many appends at once are all there in their order", testMany},
	{"a long line is cut and marked", testLong},
	{"deleting a task leaves the others", testDelete},
	{"lines join a transaction", testJoin},
	{"the bytes of logs are counted for their users", testCountedBytes},
	{"who joins waits for others, and others wait", testJoinInTurn},
	{"following sees the past, the present and ends", testFollow},
}

// TestSuite needs one database: the store's contract has the chunks of both.
func TestSuite(t *testing.T) {
	t.Parallel()
	for _, c := range suite {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(t, store.Config{Path: filepath.Join(t.TempDir(), "store.db")})
		})
	}
}

func testResend(t *testing.T, cfg store.Config) {
	l, _ := open(t, cfg)
	appendBatch(t, l, batch("c", 0, "a", "b"), 2)
	appendBatch(t, l, batch("c", 0, "a", "b"), 2)
	appendBatch(t, l, batch("c", 1, "b", "c"), 3)
	appendBatch(t, l, batch("d", 0, "x"), 1)
	appendBatch(t, l, batch("c", 3), 3)
	if got, want := texts(t, l, log.Filter{Task: "t"}), "a b c x"; got != want {
		t.Fatalf("got %q, want %q", got, want)
	}
}

func testGap(t *testing.T, cfg store.Config) {
	l, _ := open(t, cfg)
	appendBatch(t, l, batch("c", 0, "a"), 1)
	next, err := l.Append(t.Context(), batch("c", 3, "d"))
	gap, is := errors.AsType[*log.GapError](err)
	if !is || gap.Want != 1 || gap.Got != 3 || next != 1 || !errors.Is(err, log.ErrGap) {
		t.Fatalf("got next %d error %v, want a gap at 1", next, err)
	}
	appendBatch(t, l, batch("c", 1, "b"), 2)
}

func testRestart(t *testing.T, cfg store.Config) {
	l, s := open(t, cfg)
	for i := range int64(150) {
		appendBatch(t, l, batch("c", i, fmt.Sprint(i)), i+1)
	}
	l.Close()
	if _, err := l.Append(t.Context(), batch("c", 150, "late")); !errors.Is(err, log.ErrClosed) {
		t.Fatalf("append after close: got %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	l, s = open(t, cfg)
	appendBatch(t, l, batch("c", 149, "149", "150"), 151)
	var n int64
	for e, err := range l.Query(t.Context(), log.Filter{Task: "t"}) {
		if err != nil || e.ID != n || e.Text != fmt.Sprint(n) {
			t.Fatalf("line %d: got %d %q error %v", n, e.ID, e.Text, err)
		}
		n++
	}
	if n != 151 {
		t.Fatalf("got %d lines, want 151", n)
	}
	chunks, err := store.Chunks(t.Context(), s, store.ChunkRange{Task: "t", Limit: 1000})
	if err != nil || len(chunks) > 4 {
		t.Fatalf("got %d chunks for 151 single lines, error %v, want at most 4", len(chunks), err)
	}
}

func testFilters(t *testing.T, cfg store.Config) {
	l, _ := open(t, cfg)
	appendBatch(t, l, batch("c", 0, "a", "b", "c"), 3)
	rank := 1
	other := batch("d", 0, "d")
	other.Rank, other.Agent, other.Allocation, other.Lines[0].Level, other.Lines[0].Stdtype = &rank, "a2", "t.2", log.Error, "stderr"
	appendBatch(t, l, other, 1)
	if err := l.AppendUnsequenced(t.Context(), log.Batch{Task: "t", Lines: []log.Line{{Text: "m\n", Source: "master", Stdtype: "stdout"}}}); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		f    log.Filter
		want string
	}{
		"all":          {log.Filter{}, "a b c d m"},
		"head":         {log.Filter{Limit: 2}, "a b"},
		"tail":         {log.Filter{Limit: 2, Order: log.Newest}, "m d"},
		"newest":       {log.Filter{Order: log.Newest}, "m d c b a"},
		"rank":         {log.Filter{Ranks: []int{1}}, "d"},
		"no rank":      {log.Filter{Ranks: []int{-1}}, "a b c m"},
		"agents":       {log.Filter{Agents: []string{"a2", "a3"}}, "d"},
		"allocation":   {log.Filter{Allocations: []string{"t.2"}}, "d"},
		"containers":   {log.Filter{Containers: []string{"c", "d"}, Limit: 4}, "a b c d"},
		"source":       {log.Filter{Sources: []string{"master"}}, "m"},
		"stdtype":      {log.Filter{Stdtypes: []string{"stderr"}}, "d"},
		"level":        {log.Filter{Levels: []log.Level{log.Info}}, "a b c"},
		"between":      {log.Filter{After: noon, Before: noon.Add(2 * time.Second)}, "b"},
		"from":         {log.Filter{From: 2}, "c d m"},
		"from, head":   {log.Filter{From: 1, Limit: 2}, "b c"},
		"from, newest": {log.Filter{From: 3, Order: log.Newest}, "m d"},
		"from the end": {log.Filter{From: 5}, ""},
		"nothing":      {log.Filter{Agents: []string{"nobody"}}, ""},
		"last before":  {log.Filter{Before: noon.Add(2 * time.Second), Containers: []string{"c"}, Order: log.Newest, Limit: 1}, "b"},
	} {
		c.f.Task = "t"
		if got := texts(t, l, c.f); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func testMany(t *testing.T, cfg store.Config) {
	l, _ := open(t, cfg)
	const containers, batches, lines = 4, 30, 20
	var wg sync.WaitGroup
	for c := range containers {
		wg.Go(func() {
			for i := range int64(batches) {
				b := batch(fmt.Sprint("c", c), i*lines)
				for j := range lines {
					b.Lines = append(b.Lines, log.Line{Text: fmt.Sprint(i*lines+int64(j)) + strings.Repeat(" filler", 20)})
				}
				if _, err := l.Append(t.Context(), b); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	next := map[string]int{}
	n := int64(0)
	for e, err := range l.Query(t.Context(), log.Filter{Task: "t"}) {
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(e.Text, fmt.Sprint(next[e.Container])+" ") || e.ID != n {
			t.Fatalf("container %s id %d: got %.20q, want line %d", e.Container, e.ID, e.Text, next[e.Container])
		}
		next[e.Container]++
		n++
	}
	if n != containers*batches*lines {
		t.Fatalf("got %d lines, want %d", n, containers*batches*lines)
	}
}

func testLong(t *testing.T, cfg store.Config) {
	l, _ := open(t, cfg)
	long := strings.Repeat("x", log.LineLimit-1) + "ü" + strings.Repeat("y", log.LineLimit)
	appendBatch(t, l, batch("c", 0, long, "next"), 2)
	var got []string
	var whole string
	for e, err := range l.Query(t.Context(), log.Filter{Task: "t"}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprint(e.ID, len(e.Text), e.Partial))
		if e.ID < 3 {
			whole += e.Text
		}
	}
	want := []string{"0 65535 true", "1 65536 true", "2 2 false", "3 4 false"}
	if d := cmp.Diff(got, want); d != "" || whole != long {
		t.Fatalf("whole %t %s", whole == long, d)
	}
	appendBatch(t, l, batch("c", 1, "next", "last"), 3)
}

func testDelete(t *testing.T, cfg store.Config) {
	l, _ := open(t, cfg)
	appendBatch(t, l, batch("c", 0, "a"), 1)
	other := batch("c", 0, "u")
	other.Task = "u"
	appendBatch(t, l, other, 1)
	if err := l.Delete(t.Context(), "t"); err != nil {
		t.Fatal(err)
	}
	if got := texts(t, l, log.Filter{Task: "t"}) + texts(t, l, log.Filter{Task: "u"}); got != "u" {
		t.Fatalf("got %q, want only the other task's line", got)
	}
	if err := l.Delete(t.Context(), "t"); err != nil || l.Deleted() != 1 {
		t.Errorf("got %d deleted lines and %v, want one", l.Deleted(), err)
	}
	appendBatch(t, l, batch("c", 0, "again"), 1)
}

// join writes a batch in one transaction with also.
func join(t *testing.T, l *log.Logs, s *store.Store, b log.Batch, also func(*store.Tx) error) error {
	t.Helper()
	j, err := l.Join(t.Context(), []log.Batch{b})
	if err != nil {
		return err
	}
	err = s.Write(t.Context(), func(tx *store.Tx) error { return errors.Join(j.Write(tx), also(tx)) })
	j.Settle(err)
	return err
}

func testJoin(t *testing.T, cfg store.Config) {
	l, s := open(t, cfg)
	mine := errors.New("mine")
	ok := func(*store.Tx) error { return nil }
	for _, c := range []struct {
		b    log.Batch
		also func(*store.Tx) error
		want error
	}{
		{batch("c", 0, "a"), ok, nil},
		{batch("c", 1, "lost"), func(*store.Tx) error { return mine }, mine},
		{batch("c", 0, "a", "b"), ok, nil}, // the first line is already stored
		{batch("c", 4, "e"), ok, log.ErrGap},
		{batch("d", 0, "x"), ok, nil},
	} {
		if err := join(t, l, s, c.b, c.also); !errors.Is(err, c.want) {
			t.Fatalf("%v: got %v, want %v", c.b, err, c.want)
		}
	}
	appendBatch(t, l, batch("c", 2, "c"), 3)
	two, err := l.Join(t.Context(), []log.Batch{batch("c", 3, "d"), batch("d", 1, "y")})
	if err == nil {
		err = s.Write(t.Context(), two.Write)
		two.Settle(err)
	}
	if got, want := texts(t, l, log.Filter{Task: "t"}), "a b x c d y"; got != want || err != nil {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	l.Close()
	if _, err := l.Join(t.Context(), []log.Batch{batch("c", 4, "late")}); !errors.Is(err, log.ErrClosed) {
		t.Errorf("closed: got %v", err)
	}
}

func testJoinInTurn(t *testing.T, cfg store.Config) {
	l, s := open(t, cfg)
	const writers, rounds = 4, 25
	var wg sync.WaitGroup
	for i := range writers {
		name := fmt.Sprint("c", i)
		wg.Go(func() {
			for j := range int64(rounds) {
				b := batch(name, j, fmt.Sprint(j))
				if i%2 == 0 {
					if _, err := l.Append(t.Context(), b); err != nil {
						t.Error(err)
					}
				} else if err := join(t, l, s, b, func(*store.Tx) error { return nil }); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	l.Close()
	next := map[string]int{}
	for e, err := range l.Query(t.Context(), log.Filter{Task: "t"}) {
		if err != nil || e.Text != fmt.Sprint(next[e.Container]) {
			t.Fatalf("container %s: got %q, %v, want line %d", e.Container, e.Text, err, next[e.Container])
		}
		next[e.Container]++
	}
	for i := range writers {
		if name := fmt.Sprint("c", i); next[name] != rounds {
			t.Errorf("container %s: got %d lines, want %d", name, next[name], rounds)
		}
	}
}

func testFollow(t *testing.T, cfg store.Config) {
	l, _ := open(t, cfg)
	appendBatch(t, l, batch("c", 0, "read", "past"), 2)
	ended := make(chan struct{})
	got := make(chan string)
	go func() {
		defer close(got)
		for e, err := range l.Follow(t.Context(), log.Filter{Task: "t", From: 1}, ended) {
			if err != nil {
				t.Error(err)
				return
			}
			got <- e.Text
		}
	}()
	if s := <-got; s != "past" {
		t.Fatalf("got %q", s)
	}
	for i := range int64(200) {
		want := fmt.Sprint("live", i)
		appendBatch(t, l, batch("c", 2+i, want), 3+i)
		if s := <-got; s != want {
			t.Fatalf("got %q, want %q", s, want)
		}
	}
	appendBatch(t, l, batch("c", 202, "last"), 203)
	close(ended)
	if s := <-got; s != "last" {
		t.Fatalf("got %q, want the last line after the end", s)
	}
	if s, more := <-got; more {
		t.Fatalf("got %q after the end", s)
	}
}

func TestRefusedFilters(t *testing.T) {
	t.Parallel()
	l, _ := open(t, store.Config{Path: filepath.Join(t.TempDir(), "store.db")})
	for _, f := range []log.Filter{{}, {Task: "t", Limit: -1}, {Task: "t", From: -1}, {Task: "t", Order: "sideways"}} {
		for _, err := range l.Query(t.Context(), f) {
			if err == nil {
				t.Errorf("%+v is accepted", f)
			}
		}
	}
	for _, f := range []log.Filter{{Task: "t", Limit: 3}, {Task: "t", Order: log.Newest}} {
		for _, err := range l.Follow(t.Context(), f, nil) {
			if err == nil {
				t.Errorf("following %+v is accepted", f)
			}
		}
	}
}

func TestMessage(t *testing.T) {
	t.Parallel()
	at := time.Date(2022, 3, 2, 2, 15, 18, 299569000, time.UTC)
	rank := 1
	for name, c := range map[string]struct {
		e    log.Entry
		want string
	}{
		"all there":        {log.Entry{Container: "f6114bb3-aaaa", Line: log.Line{At: at, Rank: &rank, Level: log.Info, Text: "text"}}, "[2022-03-02T02:15:18.299569Z] f6114bb3 [rank=1] || INFO: text\n"},
		"no container":     {log.Entry{Line: log.Line{At: at, Text: "text"}}, "[2022-03-02T02:15:18.299569Z]          || text\n"},
		"no rank":          {log.Entry{Container: "f6114bb3", Line: log.Line{At: at, Level: log.Error, Text: ""}}, "[2022-03-02T02:15:18.299569Z] f6114bb3 || ERROR: \n"},
		"several lines":    {log.Entry{Line: log.Line{At: at, Text: "a\n[2022-03-02T02:15:18.299569Z] f6114bb3 [rank=0] || INFO: forged"}}, "[2022-03-02T02:15:18.299569Z]          || a\n    [2022-03-02T02:15:18.299569Z] f6114bb3 [rank=0] || INFO: forged\n"},
		"another timezone": {log.Entry{Line: log.Line{At: at.In(time.FixedZone("", 3600)), Text: "t"}}, "[2022-03-02T02:15:18.299569Z]          || t\n"},
	} {
		if got := c.e.Message(); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func TestParseLevel(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]log.Level{"": "", "LOG_LEVEL_UNSPECIFIED": "", "LOG_LEVEL_INFO": log.Info, "ERROR": log.Error} {
		if got, err := log.ParseLevel(in); got != want || err != nil {
			t.Errorf("%q: got %q error %v, want %q", in, got, err, want)
		}
	}
	if _, err := log.ParseLevel("loud"); err == nil {
		t.Error("an unknown level is accepted")
	}
}
