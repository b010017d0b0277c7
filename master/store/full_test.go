package store

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

type fullRecord struct {
	Text string `json:"text"`
}

// capPages limits the size of the database file for the current connection. SQLite reports it like a
// full disk.
func capPages(t *testing.T, s *Store, pages int, until func()) {
	t.Helper()
	err := s.enqueueRequest(t.Context(), &request{ctx: t.Context(), raw: func(ctx context.Context, w *writer) error {
		until()
		rows, err := w.conn.QueryContext(ctx, fmt.Sprintf("PRAGMA max_page_count = %d", pages))
		if err != nil {
			return err
		}
		return errors.Join(rows.Err(), rows.Close())
	}})
	if err != nil {
		t.Fatal(err)
	}
}

func TestFullDiskFailsOnlyWrites(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), Config{Path: filepath.Join(t.TempDir(), "s.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	if _, err := s.Acquire(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	c := Collection[fullRecord]{Kind: "full"}
	put := func(id string, size int) error {
		return s.Write(t.Context(), func(tx *Tx) error {
			return c.Put(tx, id, "", time.Time{}, fullRecord{strings.Repeat("x", size)})
		})
	}
	if err := put("before", 10); err != nil {
		t.Fatal(err)
	}
	capPages(t, s, 1, func() {}) // the minimum is the current size
	if err := put("large", 1<<20); !errors.Is(err, ErrFull) {
		t.Errorf("alone: got %v, want ErrFull", err)
	}
	var g errgroup.Group
	capPages(t, s, 1, func() { // the other writes queue meanwhile
		for i := range 3 {
			g.Go(func() error {
				if err := put(fmt.Sprintf("large-%d", i), 1<<20); !errors.Is(err, ErrFull) {
					return fmt.Errorf("in a group: got %v, want ErrFull", err) //nolint:errorlint // a failure message of the test
				}
				return nil
			})
		}
		for len(s.queue) < 3 {
			runtime.Gosched()
		}
	})
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
	if _, found, err := c.Get(t.Context(), s, "before"); err != nil || !found {
		t.Errorf("read: got %v, %v", found, err)
	}
	if err := put("after", 1<<20); err != nil {
		t.Errorf("with room again: got %v", err)
	}
	if all, err := c.All(t.Context(), s); err != nil || len(all) != 2 {
		t.Errorf("got %d documents, %v, want those that were acknowledged", len(all), err)
	}
}
