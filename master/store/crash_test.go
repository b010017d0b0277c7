package store_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/master/log"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/test/postgrestest"
	"github.com/det-deploy/det-deploy/test/storetest"
)

// The environment variables that tell the child where to write and in which round.
const (
	childPath  = "STORE_CRASH_PATH"
	childURL   = "STORE_CRASH_URL"
	childRound = "STORE_CRASH_ROUND"
)

const crashRounds = 12

// TestCrashChild is not a test but the process that the TestKilled... tests kill. It prints a line
// for every acknowledged write.
func TestCrashChild(t *testing.T) {
	cfg := store.Config{Path: os.Getenv(childPath), URL: store.URL(os.Getenv(childURL))}
	if cfg.Path == "" && cfg.URL == "" {
		t.Skip("this is the child of the crash tests")
	}
	s := storetest.Open(t, cfg)
	l := log.New(t.Context(), s)
	t.Cleanup(l.Close)
	var out sync.Mutex // guards stdout, so that acknowledgements are whole lines
	say := func(format string, args ...any) {
		out.Lock()
		defer out.Unlock()
		_, _ = fmt.Fprintf(os.Stdout, format+"\n", args...) // if the parent has exited, the child is about to be killed as well
	}
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() { childDocuments(t, s, say, os.Getenv(childRound)+"."+strconv.Itoa(i)) })
		wg.Go(func() { childLines(t, l, say, "c"+strconv.Itoa(i)) })
		wg.Go(func() { childJoined(t, s, l, say, fmt.Sprintf("joined-%s.%d", os.Getenv(childRound), i)) })
	}
	wg.Wait()
}

func childDocuments(t *testing.T, s *store.Store, say func(string, ...any), name string) {
	for j := 0; ; j++ {
		id := name + "." + strconv.Itoa(j)
		err := s.Write(t.Context(), func(tx *store.Tx) error { return fruits.Put(tx, id, "", time.Time{}, fruit{Size: j}) })
		if err != nil {
			t.Error(err)
			return
		}
		say("doc %s", id)
	}
}

// childLines sends overlapping batches, like an agent that does not know which lines of its last
// batch arrived.
func childLines(t *testing.T, l *log.Logs, say func(string, ...any), container string) {
	next := int64(0)
	for {
		first := max(0, next-3)
		b := log.Batch{Task: "t", Container: container, FirstSeq: first}
		for seq := first; seq < next+7; seq++ {
			b.Lines = append(b.Lines, log.Line{Text: strconv.FormatInt(seq, 10)})
		}
		got, err := l.Append(t.Context(), b)
		if err != nil && got <= next { // a gap is impossible, because the child starts at 0 and continues from the returned position
			t.Error(err)
			return
		}
		next = got
		say("log %s %d", container, next)
	}
}

// childJoined writes documents, each with a log line in the same transaction.
func childJoined(t *testing.T, s *store.Store, l *log.Logs, say func(string, ...any), name string) {
	l.Begin(name)
	for seq := int64(0); ; seq++ {
		id := name + "." + strconv.FormatInt(seq, 10)
		j, err := l.Join(t.Context(), []log.Batch{{Task: name, Container: "c", FirstSeq: seq, Lines: []log.Line{{Text: id}}}})
		if err == nil {
			err = s.Write(t.Context(), func(tx *store.Tx) error {
				return errors.Join(fruits.Put(tx, id, name, time.Time{}, fruit{}), j.Write(tx))
			})
			j.Settle(err)
		}
		if err != nil {
			t.Error(err)
			return
		}
		say("doc %s", id)
	}
}

func TestKilledOnSQLite(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	killRepeatedly(t, store.Config{Path: path}, childPath+"="+path)
}

func TestKilledOnPostgres(t *testing.T) {
	t.Parallel()
	url := postgrestest.Start(t, postgrestest.Options{}).URL()
	killRepeatedly(t, store.Config{URL: store.URL(url)}, childURL+"="+url)
}

func killRepeatedly(t *testing.T, cfg store.Config, env string) {
	rounds := crashRounds
	if testing.Short() {
		rounds = 2
	}
	docs, lines := map[string]bool{}, map[string]int64{}
	for round := range rounds {
		runAndKill(t, env, round, docs, lines)
		// Verify only sometimes in between: opening the store repairs it, and the next child must
		// also start without a repair.
		if round%3 == 2 || round == rounds-1 {
			verify(t, cfg, docs, lines)
		}
	}
	t.Logf("%d documents and %v lines were acknowledged", len(docs), lines)
}

func runAndKill(t *testing.T, env string, round int, docs map[string]bool, lines map[string]int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	child := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestCrashChild$")
	child.Env = append(os.Environ(), env, childRound+"="+strconv.Itoa(round))
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	// Kill after a random number of acknowledgements instead of a duration, so that the test stays
	// effective on a slow machine.
	left := 1 + rand.IntN(600)
	for scan := bufio.NewScanner(out); scan.Scan(); {
		var name string
		var n int64
		switch line := scan.Text(); {
		case strings.HasPrefix(line, "doc "):
			docs[strings.TrimPrefix(line, "doc ")] = true
		case scanLog(line, &name, &n):
			lines[name] = max(lines[name], n)
		default:
			t.Errorf("the child says %q", line)
		}
		if left--; left == 0 {
			if err := child.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := child.Wait(); err == nil || ctx.Err() != nil {
		t.Fatalf("the child was not killed: %v", err)
	}
}

func scanLog(line string, name *string, n *int64) bool {
	_, err := fmt.Sscanf(line, "log %s %d", name, n)
	return err == nil
}

func verify(t *testing.T, cfg store.Config, docs map[string]bool, lines map[string]int64) {
	t.Helper()
	s := storetest.Open(t, cfg)
	defer closeStore(t, s)
	all, err := fruits.All(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	for _, d := range all {
		there[d.ID] = true
	}
	for id := range docs {
		if !there[id] {
			t.Errorf("acknowledged document %s is lost", id)
		}
	}
	l := log.New(t.Context(), s)
	defer l.Close()
	verifyJoined(t, l, all)
	next := map[string]int64{}
	for e, err := range l.Query(t.Context(), log.Filter{Task: "t"}) {
		if err != nil {
			t.Fatal(err)
		}
		if want := strconv.FormatInt(next[e.Container], 10); e.Text != want {
			t.Fatalf("container %s: got line %s, want %s: doubled or lost", e.Container, e.Text, want)
		}
		next[e.Container]++
	}
	for container, n := range lines {
		if next[container] < n {
			t.Errorf("container %s: %d lines are there, %d were acknowledged", container, next[container], n)
		}
	}
}

// verifyJoined checks that each document has its line and each line its document.
func verifyJoined(t *testing.T, l *log.Logs, all []store.Doc[fruit]) {
	t.Helper()
	want := map[string]int{}
	for _, d := range all {
		if strings.HasPrefix(d.Parent, "joined-") {
			want[d.Parent]++
		}
	}
	for name, n := range want {
		seq := 0
		for e, err := range l.Query(t.Context(), log.Filter{Task: name}) {
			if line := name + "." + strconv.Itoa(seq); err != nil || e.Text != line {
				t.Fatalf("got line %q, %v, want %q", e.Text, err, line)
			}
			seq++
		}
		if seq != n {
			t.Errorf("%s: got %d lines, want one for each of %d documents", name, seq, n)
		}
	}
}
