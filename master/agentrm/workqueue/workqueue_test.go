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

// withQueue runs a queue until post has returned and all work is done.
func withQueue(t *testing.T, post func(*Queue)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		l := New()
		var wg sync.WaitGroup
		wg.Go(func() { l.Run(ctx) })
		post(l)
		time.Sleep(time.Minute) //nolint:forbidigo // time passes immediately in synctest
		cancel()
		wg.Wait()
		if len(l.waiting) != 0 || len(l.ready) != 0 || l.working != 0 {
			t.Errorf("got %d lanes waiting, %d ready and %d workers, want none", len(l.waiting), len(l.ready), l.working)
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
			for i := range Workers + 8 {
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

// Work that was added before Run is done as well, and the number of concurrent workers is bounded.
func TestWorkersAreBoundedAndEndWithTheWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		l, hold := New(), make(chan struct{})
		var mu sync.Mutex
		var now, most, done int
		count := func(by int) {
			mu.Lock()
			defer mu.Unlock()
			now += by
			most = max(most, now)
			if by < 0 {
				done++
			}
		}
		add := func(from, to int) {
			for i := from; i < to; i++ {
				l.Add(fmt.Sprint("lane ", i), func(context.Context) time.Duration {
					count(1)
					<-hold
					count(-1)
					return 0
				})
			}
		}
		add(0, Workers)
		var wg sync.WaitGroup
		wg.Go(func() { l.Run(ctx) })
		add(Workers, 2*Workers)
		synctest.Wait()
		if now != Workers {
			t.Errorf("got %d at a time, want %d", now, Workers)
		}
		close(hold)
		synctest.Wait()
		if done != 2*Workers || most != Workers || l.working != 0 {
			t.Errorf("got %d done, at most %d at a time and %d workers left, want %d, %d and none", done, most, l.working, 2*Workers, Workers)
		}
		cancel()
		wg.Wait()
	})
}
