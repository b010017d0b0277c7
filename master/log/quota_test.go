package log_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/master/log"
	"github.com/det-deploy/det-deploy/master/quota"
	"github.com/det-deploy/det-deploy/master/store"
)

// ownerOf returns user 1 for tasks whose names start with a, user 2 for b, and otherwise no user.
func ownerOf(_ context.Context, task string) (quota.User, error) {
	return quota.User{ID: int32(1 + strings.Index("ab", task[:1])), Name: "user " + task[:1]}, nil //nolint:gosec // it fits
}

// openCounted opens logs with a quota in bytes for each user.
func openCounted(t *testing.T, cfg store.Config, limit int64) (*log.Logs, *store.Store, *quota.Quota) {
	t.Helper()
	l, s := open(t, cfg)
	q, err := quota.Open(t.Context(), s, limit)
	if err != nil {
		t.Fatal(err)
	}
	l.LimitUsers(q, ownerOf)
	return l, s, q
}

// countedOf returns the counted and the stored bytes of both users.
func countedOf(t *testing.T, s *store.Store, q *quota.Quota) (counted, stored [2]int64) {
	t.Helper()
	sizes, err := store.LogBytesByTask(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	for task, n := range sizes {
		if i := strings.Index("ab", task[:1]); i >= 0 {
			stored[i] += n
		}
	}
	return [2]int64{q.Stored(1)[quota.Logs], q.Stored(2)[quota.Logs]}, stored
}

func testCountedBytes(t *testing.T, cfg store.Config) {
	l, s, q := openCounted(t, cfg, 0)
	r := rand.New(rand.NewPCG(1, uint64(len(cfg.Path))))
	next := map[string]int64{}
	for step := range 150 {
		task := fmt.Sprintf("%c%d", "abc"[r.IntN(3)], r.IntN(3))
		b := batch("c", next[task], strings.Repeat("x", r.IntN(3000)), noise(r.IntN(3000)))
		b.Task = task
		switch r.IntN(8) {
		case 0:
			if err := l.Delete(t.Context(), task); err != nil {
				t.Fatal(err)
			}
			next[task] = 0
		case 1: // with a write that fails
			mine := errors.New("mine")
			if err := join(t, l, s, b, func(*store.Tx) error { return mine }); !errors.Is(err, mine) {
				t.Fatal(err)
			}
		case 2:
			l.Close()
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			l, s, q = openCounted(t, cfg, 0)
		default:
			next[task] += 2
			appendBatch(t, l, b, next[task])
		}
		if counted, stored := countedOf(t, s, q); counted != stored {
			t.Fatalf("step %d: got %v, stored are %v", step, counted, stored)
		}
	}
	if counted, _ := countedOf(t, s, q); counted[0] == 0 || counted[1] == 0 || len(q.Stored(0)) > 0 {
		t.Errorf("got %v, want bytes of both users and of no other", counted)
	}
}

func TestUserLimit(t *testing.T) {
	t.Parallel()
	cfg := store.Config{Path: filepath.Join(t.TempDir(), "s.db")}
	l, s, _ := openCounted(t, cfg, 64<<10)
	print := func(task string, from, to int64) {
		t.Helper()
		for i := from; i < to; i++ {
			b := batch("c", i, noise(10<<10))
			b.Task = task
			appendBatch(t, l, b, i+1) // acknowledged whether or not it is stored
		}
	}
	reopen := func() {
		t.Helper()
		l.Close()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		l, s, _ = openCounted(t, cfg, 64<<10)
	}
	print("a1", 0, 20)
	print("a2", 0, 1)
	reopen()
	print("a1", 20, 22)
	print("b1", 0, 4)
	master := log.Batch{Task: "a1", Lines: []log.Line{{Source: "master", Text: "the task ended"}}}
	if _, err := l.Append(t.Context(), master); err != nil {
		t.Fatal(err)
	}
	const said = "is not kept: user user a stores "
	one := texts(t, l, log.Filter{Task: "a1"})
	if n := strings.Count(one, said); n != 1 || len(one) > 100<<10 || len(one) < 50<<10 || !strings.HasSuffix(one, "the task ended") {
		t.Errorf("got %d bytes with %d lines that say what is missing, want about 64 KiB, one and the master's line", len(one), n)
	}
	if two := texts(t, l, log.Filter{Task: "a2"}); !strings.HasPrefix(two, "further output of the task "+said) {
		t.Errorf("another log of the user: got %.200q", two)
	}
	if other := texts(t, l, log.Filter{Task: "b1"}); len(other) != 40<<10+3 || strings.Contains(other, said) {
		t.Errorf("another user: got %d bytes", len(other))
	}
	if err := l.Delete(t.Context(), "a1"); err != nil {
		t.Fatal(err)
	}
	print("a2", 1, 3)
	if two := texts(t, l, log.Filter{Task: "a2"}); len(two) < 20<<10 || strings.Count(two, said) != 1 {
		t.Errorf("when the other log was deleted: got %d bytes", len(two))
	}
}
