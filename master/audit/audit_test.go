package audit

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/test/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is an audit log with a clock that tests advance.
type world struct {
	*Log
	store *store.Store
	now   time.Time
}

func newWorld(t *testing.T, keep time.Duration) *world {
	t.Helper()
	w := &world{store: storetest.New(t), now: time.Date(2026, 11, 22, 5, 0, 0, 0, time.UTC)}
	w.open(t, keep)
	return w
}

func (w *world) open(t *testing.T, keep time.Duration) {
	t.Helper()
	var err error
	if w.Log, err = Open(t.Context(), Config{Store: w.store, Keep: keep, Now: func() time.Time { return w.now }}); err != nil {
		t.Fatal(err)
	}
}

func (w *world) read(t *testing.T, q Query) []string {
	t.Helper()
	var out []string
	err := w.Read(t.Context(), q, func(e *apiv1.AuditEntry) error {
		out = append(out, fmt.Sprintf("%s %s %s", e.GetUser(), e.GetAction(), e.GetOutcome()))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func entry(user, action, outcome string) *apiv1.AuditEntry {
	return &apiv1.AuditEntry{User: user, Action: action, Outcome: outcome, Address: "10.0.0.1"}
}

func TestEntriesAreReadByUserActionAndTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 0)
	w.Record(t.Context(), entry("ada", "user.create", Done))
	w.now = w.now.Add(time.Hour)
	w.Record(t.Context(), entry("bob", "task.kill", Refused))
	w.open(t, 0) // a restart continues the numbers
	w.Record(t.Context(), entry("ada", "user.change", Done))
	tests := []struct {
		name string
		q    Query
		want []string
	}{
		{"all", Query{}, []string{"ada user.create done", "bob task.kill refused", "ada user.change done"}},
		{"of a user", Query{User: "Bob"}, []string{"bob task.kill refused"}},
		{"an action", Query{Action: "user.create"}, []string{"ada user.create done"}},
		{"actions of a kind", Query{Action: "user."}, []string{"ada user.create done", "ada user.change done"}},
		{"since", Query{Since: w.now}, []string{"bob task.kill refused", "ada user.change done"}},
		{"behind one", Query{After: entryID(2)}, []string{"ada user.change done"}},
		{"newest first", Query{Newest: true}, []string{"ada user.change done", "bob task.kill refused", "ada user.create done"}},
		{"the newest", Query{Newest: true, Limit: 1}, []string{"ada user.change done"}},
		{"before one", Query{Newest: true, Before: entryID(3), Limit: 2}, []string{"bob task.kill refused", "ada user.create done"}},
		{"newest of a user, since", Query{Newest: true, User: "ada", Since: w.now}, []string{"ada user.change done"}},
		{"the first of all", Query{Limit: 1}, []string{"ada user.create done"}},
	}
	for _, tt := range tests {
		if d := cmp.Diff(w.read(t, tt.q), tt.want); d != "" {
			t.Errorf("%s (-got +want):\n%s", tt.name, d)
		}
	}
}

func TestManyRefusalsAreCounted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 0)
	const tries = 5000
	for i := range tries {
		e := entry("", "login", Refused)
		e.Address = fmt.Sprintf("10.0.%d.%d", i%2000/250, i%250)
		w.Record(t.Context(), e)
	}
	w.Record(t.Context(), &apiv1.AuditEntry{User: "root", Admin: true, Action: "user.create", Outcome: Done})
	w.addPending(t.Context(), w.flood.takeCounted(w.now)...)
	var entries int
	var sum int32
	var last *apiv1.AuditEntry
	err := w.Read(t.Context(), Query{Action: "login"}, func(e *apiv1.AuditEntry) error {
		entries++
		sum += max(1, e.GetCount())
		last = e
		return nil
	})
	if err != nil || entries > refusedAtOnce+1 || sum != tries || !strings.Contains(last.GetDetails(), "others") {
		t.Errorf("got %d entries for %d tries, the last %v, %v, want at most %d for %d", entries, sum, last, err, refusedAtOnce+1, tries)
	}
	if got := w.read(t, Query{User: "root"}); len(got) != 1 {
		t.Errorf("got %v, want what an administrator did", got)
	}
}

func TestSweepDeletesOldEntries(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 24*time.Hour)
	w.Record(t.Context(), entry("ada", "user.create", Done))
	w.now = w.now.Add(25 * time.Hour)
	w.Record(t.Context(), entry("ada", "user.change", Done))
	if err := w.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(w.read(t, Query{}), []string{"ada user.change done"}); d != "" {
		t.Errorf("(-got +want):\n%s", d)
	}
}

func TestFollowersGetEveryEntry(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 0)
	const all = 200
	ctx, cancel := context.WithCancel(t.Context())
	var got []string
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = w.Read(ctx, Query{Follow: true}, func(e *apiv1.AuditEntry) error { // ends with ctx
			if got = append(got, e.GetId()); len(got) == all {
				cancel()
			}
			return nil
		})
	}()
	var wg sync.WaitGroup
	for range all {
		wg.Go(func() { w.Record(ctx, &apiv1.AuditEntry{User: "root", Admin: true, Action: "a", Outcome: Done}) })
	}
	wg.Wait()
	<-done
	for i, n := range got {
		if n != entryID(int64(i+1)) {
			t.Fatalf("got %s at %d, want every number once", n, i)
		}
	}
}

func TestPlainText(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 0)
	e := entry("ada", "user.create", Done)
	e.Target = "\u202edlrow\x1b[2J\xff" + strings.Repeat("x", 1000)
	w.Record(t.Context(), e)
	err := w.Read(t.Context(), Query{}, func(e *apiv1.AuditEntry) error {
		if got := e.GetTarget(); !strings.HasPrefix(got, "?dlrow?[2J?") || len([]rune(got)) > longestText+1 {
			t.Errorf("got %q, want it plain and short", got)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Entries that could not be stored are stored with later ones.
func TestEntriesSurviveStoreFailure(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 0)
	ended, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	w.pending = []*apiv1.AuditEntry{entry("ada", "user.create", Done)}
	if err := w.storePending(ended); err == nil {
		t.Fatal("got a write without time, want it refused")
	}
	w.Record(t.Context(), entry("ada", "user.change", Done))
	if d := cmp.Diff(w.read(t, Query{}), []string{"ada user.create done", "ada user.change done"}); d != "" {
		t.Errorf("(-got +want):\n%s", d)
	}
}
