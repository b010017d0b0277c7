package store

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func probed(t *testing.T) *Store {
	t.Helper()
	s, err := Open(t.Context(), Config{Path: filepath.Join(t.TempDir(), "s.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

func TestProbeIsAWrite(t *testing.T) {
	t.Parallel()
	s := probed(t)
	if err := s.Probe(t.Context()); !errors.Is(err, ErrNoLease) {
		t.Errorf("without the lease: got %v, want %v", err, ErrNoLease)
	}
	if _, err := s.Acquire(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	if err := s.Probe(t.Context()); err != nil {
		t.Errorf("got %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Probe(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("asked by nobody any more: got %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Probe(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("closed: got %v, want %v", err, ErrClosed)
	}
}

// An empty write succeeds on a full disk, so that Probe retries a refused write until it succeeds.
func TestProbeRemembersAFullDisk(t *testing.T) {
	t.Parallel()
	s := probed(t)
	if _, err := s.Acquire(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	c := Collection[fullRecord]{Kind: "full"}
	put := func() error {
		return s.Write(t.Context(), func(tx *Tx) error {
			return c.Put(tx, "large", "", time.Time{}, fullRecord{strings.Repeat("x", 1<<20)})
		})
	}
	full := func() { capPages(t, s, 1, func() {}) } // until a write was refused
	full()
	if err := s.Probe(t.Context()); err != nil {
		t.Errorf("before anything was refused: got %v", err)
	}
	if err := put(); !errors.Is(err, ErrFull) {
		t.Fatalf("got %v, want %v", err, ErrFull)
	}
	for range 2 {
		full()
		if err := s.Probe(t.Context()); !errors.Is(err, ErrFull) {
			t.Errorf("still full: got %v, want %v", err, ErrFull)
		}
	}
	if err := s.Probe(t.Context()); err != nil {
		t.Errorf("with room again: got %v", err)
	}
	if all, err := probeCollection().All(t.Context(), s); err != nil || len(all) != 0 {
		t.Errorf("got %d probes in the store, %v, want none", len(all), err)
	}
	full()
	if err := s.Probe(t.Context()); err != nil {
		t.Errorf("after it had room: got %v, want an empty write again", err)
	}
}
