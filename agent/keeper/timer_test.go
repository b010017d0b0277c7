package keeper

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/agent/lease"
)

func TestATimerWaitsByTheClockOfLeases(t *testing.T) {
	t.Parallel()
	w, err := newTimer()
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	for _, at := range []time.Duration{0, lease.Now() - time.Hour, lease.Now() + 50*time.Millisecond} {
		if err := w.waitUntil(t.Context(), at); err != nil || lease.Now() < at {
			t.Errorf("until %s: got %v at %s", at, err, lease.Now())
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if err := w.waitUntil(ctx, lease.Now()+time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("of an end that was asked for: got %v", err)
	}
}

func TestAKeeperThatEndsYoungIsStartedEverLater(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_000_000, 0)
	var b backoff
	for i, want := range []time.Duration{0, time.Second, 2 * time.Second, 4 * time.Second} {
		b.failed(now)
		if b.pause != want || !b.due.Equal(now.Add(want)) {
			t.Errorf("end %d: got %s, want %s", i, b.pause, want)
		}
	}
	for range 10 {
		b.failed(now)
	}
	if b.pause != againMost {
		t.Errorf("in the end: got %s, want %s", b.pause, againMost)
	}
	if b.failed(now.Add(time.Hour)); b.pause != 0 {
		t.Errorf("after an hour: got %s, want none", b.pause)
	}
}
