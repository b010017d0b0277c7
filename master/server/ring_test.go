package server

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestRingTruncatesRecords(t *testing.T) {
	t.Parallel()
	r := NewRing(10, slog.DiscardHandler)
	log := slog.New(r)
	log.Warn("agent refused", "err", errors.New(strings.Repeat("ä", 4<<20)))
	log.Warn("long", "k", strings.Repeat("x", 1<<20))
	log.Warn("short", "k", "v")
	entries, _ := r.from(0)
	for _, e := range entries {
		if m := e.GetMessage(); len(m) > entryBytes || !utf8.ValidString(m) {
			t.Errorf("got %d bytes: %.60q", len(m), m)
		}
	}
	if got := entries[2].GetMessage(); got != "short k=v" {
		t.Errorf("got %q", got)
	}
	if n := r.buf.Cap(); n > 4*entryBytes {
		t.Errorf("the buffer keeps %d bytes", n)
	}
}
