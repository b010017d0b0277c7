package server

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/det-deploy/det-deploy/internal/wait"
	"github.com/det-deploy/det-deploy/master/server/guard"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/test/postgrestest"
	"github.com/det-deploy/det-deploy/test/rest"
)

// TestReadinessFollowsTheDatabase makes the database unavailable in every observed way. Meanwhile, the
// master is alive and not ready, and reports the reason. Afterwards it becomes ready by itself.
func TestReadinessFollowsTheDatabase(t *testing.T) {
	for _, tt := range []struct {
		name string
		rest bool
		// prepare returns the store's configuration, and functions that make it unavailable and available
		// again.
		prepare func(t *testing.T) (cfg store.Config, away func(*store.Store), back func())
	}{
		{"PostgreSQL is stopped", false, func(t *testing.T) (store.Config, func(*store.Store), func()) {
			pg := postgrestest.Start(t, postgrestest.Options{})
			return store.Config{URL: store.URL(pg.URL())}, func(*store.Store) { pg.Stop() }, pg.Launch
		}},
		{"PostgreSQL hangs", true, func(t *testing.T) (store.Config, func(*store.Store), func()) {
			pg := postgrestest.Start(t, postgrestest.Options{})
			return store.Config{URL: store.URL(pg.URL())}, func(*store.Store) { pg.Freeze() }, pg.Thaw
		}},
		{"PostgreSQL's disk is full", true, func(t *testing.T) (store.Config, func(*store.Store), func()) {
			address, disk := postgrestest.Start(t, postgrestest.Options{}).SmallURL(64 << 20)
			away := func(s *store.Store) { disk.Fill(t); writeUntilRefused(t, s) }
			return store.Config{URL: store.URL(address)}, away, func() { disk.Free(t) }
		}},
		{"SQLite's disk is full", false, func(t *testing.T) (store.Config, func(*store.Store), func()) {
			disk := postgrestest.NewDisk(t, 64<<20)
			return store.Config{Path: filepath.Join(string(disk), "s.db")}, func(*store.Store) { disk.Fill(t) }, func() { disk.Free(t) }
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if testing.Short() {
				t.Skip("takes some seconds; run without -short")
			}
			if tt.rest {
				rest.Only(t)
			}
			cfg, away, back := tt.prepare(t)
			st, err := store.Open(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			// Not deferred: a hanging database must resume before Close waits for it.
			t.Cleanup(func() { _ = st.Close() }) // its database may be gone
			if _, err := st.Acquire(t.Context(), "test"); err != nil {
				t.Fatal(err)
			}
			ready := guard.NewReadiness(slog.New(slog.DiscardHandler), guard.Check{Name: "store", Failure: "it cannot be written", Ask: st.Probe})
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan struct{})
			go func() { ready.Run(ctx); close(ended) }()
			t.Cleanup(func() { cancel(); <-ended })
			s := &Server{shared: &shared{cfg: Config{Readiness: ready}}}
			awaitHealth(t, s, http.StatusOK, `"status":"up"`)
			away(st)
			awaitHealth(t, s, http.StatusServiceUnavailable, `"not_ready":{"store":"it cannot be written"}`)
			if rec := serve(t, s, "/health/live"); rec.Code != http.StatusOK {
				t.Errorf("it is not alive: %d %s", rec.Code, rec.Body)
			}
			back()
			awaitHealth(t, s, http.StatusOK, `"status":"up"`)
		})
	}
}

// awaitHealth waits for a health response and logs the elapsed time.
func awaitHealth(t *testing.T, s *Server, code int, text string) {
	t.Helper()
	began := time.Now()
	for {
		rec := serve(t, s, "/health/ready")
		if rec.Code == code && strings.Contains(rec.Body.String(), text) {
			t.Logf("%d after %s", code, time.Since(began).Round(time.Millisecond))
			return
		}
		if time.Since(began) > 2*time.Minute {
			t.Fatalf("got %d %s, want %d %s", rec.Code, rec.Body, code, text)
		}
		<-time.After(20 * time.Millisecond)
	}
}

// writeUntilRefused fills the allocated pages of the tables.
func writeUntilRefused(t *testing.T, s *store.Store) {
	t.Helper()
	c := store.Collection[[]byte]{Kind: "large"}
	text := make([]byte, 64<<10)
	for range 2000 {
		_, _ = rand.Read(text) // it never fails
		err := s.Write(t.Context(), func(tx *store.Tx) error { return c.Put(tx, rand.Text(), "", time.Time{}, text) })
		if errors.Is(err, store.ErrFull) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("a full disk took everything")
}

// TestReadinessFollowsStartWithoutDelay uses a check that succeeds shortly after the start, and then fails
// and is retried at the longer interval.
func TestReadinessFollowsStartWithoutDelay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var asked atomic.Int64
		ready := guard.NewReadiness(slog.New(slog.DiscardHandler), guard.Check{Name: "loop", Failure: "it does not run", Ask: func(context.Context) error {
			asked.Add(1)
			if since := time.Since(began); since < 25*time.Millisecond || since > guard.ProbeEvery {
				return errors.New("not now")
			}
			return nil
		}})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go ready.Run(ctx)
		_ = wait.For(ctx, 50*time.Millisecond)
		if reasons := ready.NotReady(); len(reasons) > 0 || asked.Load() != 3 {
			t.Errorf("after 50 ms it was asked %d times, and is not ready for %v", asked.Load(), reasons)
		}
		_ = wait.For(ctx, 2*guard.ProbeEvery)
		if most := 4 + int64(guard.ProbeEvery/guard.ProbeAgain); asked.Load() < 4 || asked.Load() > most {
			t.Errorf("it was asked %d times, want at most %d", asked.Load(), most)
		}
	})
}
