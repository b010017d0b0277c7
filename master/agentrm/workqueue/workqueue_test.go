package workqueue

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// withQueue runs two workers until the test has posted and all is done.
func withQueue(t *testing.T, post func(*Queue)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		l := New()
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() { l.Run(ctx) })
		}
		post(l)
		time.Sleep(time.Minute) //nolint:forbidigo // of the bubble's clock: it passes at once when all wait
		cancel()
		wg.Wait()
		if len(l.waiting) != 0 || len(l.ready) != 0 {
			t.Errorf("got %d lanes waiting and %d ready, want none", len(l.waiting), len(l.ready))
		}
	})
}

func TestLanes(t *testing.T) {
	t.Parallel()
	t.Run("work in a lane is done in order, and again before what follows", func(t *testing.T) {
		t.Parallel()
		var got []int
		tries := 0
		withQueue(t, func(l *Queue) {
			for i := range 4 {
				l.Add("lane", func(context.Context) time.Duration {
					if i == 1 {
						if tries++; tries < 3 {
							return time.Second
						}
					}
					got = append(got, i)
					return 0
				})
			}
		})
		if diff := cmp.Diff(got, []int{0, 1, 2, 3}); diff != "" || tries != 3 {
			t.Errorf("after %d tries, got - want +\n%s", tries, diff)
		}
	})
	t.Run("lanes that are tried again hold up no worker", func(t *testing.T) {
		t.Parallel()
		var mu sync.Mutex
		var done []string
		withQueue(t, func(l *Queue) {
			for i := range 8 {
				tries := 0
				l.Add(fmt.Sprint("stuck ", i), func(context.Context) time.Duration {
					if tries++; tries < 5 {
						return time.Second
					}
					return 0
				})
			}
			l.Add("free", func(context.Context) time.Duration {
				mu.Lock()
				defer mu.Unlock()
				done = append(done, "free")
				return 0
			})
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			if len(done) != 1 {
				t.Error("free work waits for lanes that are stuck")
			}
		})
	})
}
