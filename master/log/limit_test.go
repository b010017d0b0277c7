package log_test

import (
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/master/log"
	"github.com/det-deploy/det-deploy/master/store"
)

// noise returns incompressible text, so that its stored size equals its length.
func noise(bytes int) string {
	var b strings.Builder
	for range bytes {
		b.WriteByte(byte('!' + rand.IntN(90)))
	}
	return b.String()
}

func TestTaskLimit(t *testing.T) {
	t.Parallel()
	cfg := store.Config{Path: filepath.Join(t.TempDir(), "s.db")}
	l, _ := open(t, cfg)
	l.LimitTask(64 << 10)
	for i := range int64(20) {
		appendBatch(t, l, batch("c", i, noise(10<<10)), i+1) // acknowledged whether or not it is stored
	}
	master := log.Batch{Task: "t", Lines: []log.Line{{Source: "master", Text: "the task ended"}}}
	if _, err := l.Append(t.Context(), master); err != nil {
		t.Fatal(err)
	}
	got := texts(t, l, log.Filter{Task: "t"})
	if n := strings.Count(got, "log_bytes_per_task of 65536 bytes"); n != 1 {
		t.Errorf("got %d lines that say so, want one", n)
	}
	if len(got) > 100<<10 || len(got) < 50<<10 {
		t.Errorf("got %d bytes, want about 64 KiB", len(got))
	}
	if !strings.Contains(got, "the task ended") {
		t.Error("the master's own line is lost")
	}
	l.Close()
	again, _ := open(t, store.Config{Path: filepath.Join(t.TempDir(), "other.db")})
	for i := range int64(20) {
		appendBatch(t, again, batch("c", i, noise(10<<10)), i+1)
	}
	if got := texts(t, again, log.Filter{Task: "t"}); len(got) < 200<<10 {
		t.Errorf("without a limit: got %d bytes, want all", len(got))
	}
}
