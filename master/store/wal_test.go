package store_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/internal/wait"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/test/storetest"
)

// readWithoutPause keeps at least one read open until ctx is done.
func readWithoutPause(ctx context.Context, t *testing.T, s *store.Store) {
	t.Helper()
	var readers sync.WaitGroup
	begin := func() (end func()) {
		begun, over := make(chan struct{}), make(chan struct{})
		readers.Go(func() {
			var once sync.Once
			err := fruits.EachUndated(context.WithoutCancel(ctx), s, func(string) *fruit {
				once.Do(func() { close(begun); <-over })
				return nil
			})
			if err != nil {
				t.Error(err)
			}
			once.Do(func() { close(begun) })
		})
		<-begun
		return sync.OnceFunc(func() { close(over) })
	}
	for last := begin(); ; {
		next := begin()
		_ = wait.For(ctx, 100*time.Millisecond) // writes happen meanwhile
		last()
		if last = next; ctx.Err() != nil {
			last()
			readers.Wait()
			return
		}
	}
}

func TestWALIsBoundedDuringReads(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	s := storetest.Open(t, store.Config{Path: path})
	put := func(id, version int) {
		t.Helper()
		err := s.Write(t.Context(), func(tx *store.Tx) error {
			return fruits.Put(tx, strconv.Itoa(id), "", time.Time{}, fruit{Name: strings.Repeat(string(rune('a'+version%26)), 1<<20)})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	put(0, 0)
	put(1, 0)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); readWithoutPause(ctx, t, s) }()
	most := int64(0)
	for i := range 120 {
		put(i%8, i+1)
		info, err := os.Stat(path + "-wal")
		if err != nil {
			t.Fatal(err)
		}
		most = max(most, info.Size())
	}
	cancel()
	<-done
	if most > 100<<20 { // it is truncated at 32 MB, or at the second or third check on a busy machine

		t.Errorf("the write-ahead log of a store with 8 MB came to %d MB", most>>20)
	}
}
