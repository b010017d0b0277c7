package master

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/master/store"
)

func TestWaitForStoreLogsOnce(t *testing.T) {
	t.Parallel()
	var said strings.Builder
	log := slog.New(slog.NewTextHandler(&said, nil))
	ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
	defer cancel()
	// An unused port refuses connections at once.
	_, err := waitForStore(ctx, store.Config{URL: "postgres://u:p@127.0.0.1:1/d?sslmode=disable"}, log)
	if !errors.Is(err, context.DeadlineExceeded) || strings.Count(said.String(), "waiting for the database") != 1 {
		t.Errorf("got %v and log %q", err, said.String())
	}
}

func TestWaitForStoreReturnsAtOnce(t *testing.T) {
	t.Parallel()
	var said strings.Builder
	s, err := waitForStore(t.Context(), store.Config{Path: filepath.Join(t.TempDir(), "master.db")}, slog.New(slog.NewTextHandler(&said, nil)))
	if err != nil || said.Len() > 0 {
		t.Fatalf("got %v and log %q", err, said.String())
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
