package pods

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// A single change is processed after gatherChanges, and a burst of changes a few times per second.
func TestPassesForACrowdOfChanges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newState(Config{})
		defer s.work.ShutDown()
		ctx, cancel := context.WithCancel(t.Context())
		made, done := 0, make(chan error, 1)
		go func() { done <- s.passes.Run(ctx, func(time.Time) time.Time { made++; return time.Time{} }) }()
		time.Sleep(time.Second) //nolint:forbidigo // synctest's clock
		synctest.Wait()
		before := made
		s.onChange("", true)
		time.Sleep(gatherChanges) //nolint:forbidigo // synctest's clock
		synctest.Wait()
		if made != before+1 {
			t.Errorf("got %d passes %s after a single change, want 1", made-before, gatherChanges)
		}
		before = made
		for range 1000 {
			s.onChange("", true)
			time.Sleep(time.Millisecond) //nolint:forbidigo // synctest's clock
		}
		time.Sleep(gatherCrowd) //nolint:forbidigo // synctest's clock
		synctest.Wait()
		if n := made - before; n < 9 || n > 11 {
			t.Errorf("got %d passes for a second of changes, want about 10", n)
		}
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want the end of the context", err)
		}
	})
}
