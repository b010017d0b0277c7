package server

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/det-deploy/det-deploy/master/server/guard"
)

func TestHealthDistinguishesReadinessAndLiveness(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var trouble atomic.Pointer[error]
		var asked atomic.Int32
		frozen := make(chan struct{})
		ready := guard.NewReadiness(slog.New(slog.DiscardHandler), guard.Check{Name: "store", Failure: "it cannot be written", Ask: func(context.Context) error {
			asked.Add(1)
			err := trouble.Load()
			if err != nil && *err == nil {
				<-frozen
			}
			if err == nil {
				return nil
			}
			return *err
		}})
		s := &Server{shared: &shared{cfg: Config{Readiness: ready}}}
		want := func(path string, code int, text string) {
			t.Helper()
			rec := serve(t, s, path)
			if rec.Code != code || !strings.Contains(rec.Body.String(), text) {
				t.Errorf("%s: got %d %s, want %d with %s", path, rec.Code, rec.Body, code, text)
			}
		}
		want("/health/ready", http.StatusServiceUnavailable, `"store":"not checked yet"`)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { ready.Run(ctx); close(ended) }()
		synctest.Wait()
		want("/health", http.StatusOK, `{"status":"up"}`)

		full := errors.New("disk full: secret path")
		trouble.Store(&full)
		time.Sleep(guard.ProbeEvery + time.Millisecond) //nolint:forbidigo // synctest's clock
		for range 1000 {
			want("/health/ready", http.StatusServiceUnavailable, `"not_ready":{"store":"it cannot be written"}`)
		}
		want("/healthz", http.StatusServiceUnavailable, `"status":"unavailable"`)
		want("/health/live", http.StatusOK, `{"status":"up"}`)
		if n := asked.Load(); n > 3 {
			t.Errorf("1000 requests asked the store %d times", n)
		}
		trouble.Store(nil)
		time.Sleep(guard.ProbeAgain + time.Millisecond) //nolint:forbidigo // synctest's clock
		want("/health", http.StatusOK, `{"status":"up"}`)

		var none error
		trouble.Store(&none)                                               // it hangs
		time.Sleep(guard.ProbeEvery + guard.ProbeLimit + time.Millisecond) //nolint:forbidigo // synctest's clock
		want("/health", http.StatusServiceUnavailable, "store: it cannot be written")
		trouble.Store(nil)
		close(frozen)
		synctest.Wait()
		want("/health", http.StatusOK, `{"status":"up"}`)
		cancel()
		<-ended
	})
}

func TestMasterWithoutLeaseIsDown(t *testing.T) {
	t.Parallel()
	s := &Server{shared: &shared{cfg: Config{Health: func(context.Context) error { return errors.New("taken over") }}}}
	for _, path := range []string{"/health", "/health/live", "/health/ready"} {
		if rec := serve(t, s, path); rec.Code != http.StatusServiceUnavailable || !strings.Contains(rec.Body.String(), `"status":"down"`) {
			t.Errorf("%s: got %d %s", path, rec.Code, rec.Body)
		}
	}
}

func serve(t *testing.T, s *Server, path string) *httptest.ResponseRecorder {
	h := &healthCalls{s.shared}
	t.Helper()
	rec := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody)
	if strings.HasSuffix(path, "/live") {
		h.live(rec, r)
	} else {
		h.answerHealth(rec, r)
	}
	return rec
}
