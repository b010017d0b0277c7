package passes_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/det-deploy/det-deploy/master/queue/passes"
)

// run runs passes, each as long as the function takes, in a synctest bubble until the test ends.
func run(t *testing.T, p *passes.Passes, pass func(time.Time) time.Time) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx, pass) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want the end of the context", err)
		}
	})
}

func TestPassRunsWhenWokenAndWhenDue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := passes.New()
		var n atomic.Int64 // an advancing clock does not order memory accesses
		run(t, p, func(now time.Time) time.Time {
			switch n.Add(1) {
			case 2:
				p.Wake()
				p.Wake()
			case 3:
				return now.Add(time.Minute)
			}
			return time.Time{}
		})
		for _, step := range []struct {
			name string
			act  func()
			want int64
		}{
			{"at once", func() {}, 1},
			{"nothing happens for a day", func() { sleep(24 * time.Hour) }, 1},
			{"woken, and twice more in the pass", p.Wake, 3},
			{"before it is due", func() { sleep(59 * time.Second) }, 3},
			{"due", func() { sleep(time.Second) }, 4},
		} {
			step.act()
			synctest.Wait()
			if n := n.Load(); n != step.want {
				t.Errorf("%s: got %d passes, want %d", step.name, n, step.want)
			}
		}
	})
}

func TestLongPassIsFollowedByEqualDelay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := passes.New()
		var began []time.Time
		run(t, p, func(now time.Time) time.Time {
			began = append(began, now)
			sleep(time.Second)
			p.Wake()
			return time.Time{}
		})
		sleep(5 * time.Second)
		synctest.Wait()
		if len(began) != 3 || began[1].Sub(began[0]) != 2*time.Second {
			t.Errorf("got passes at %v, want one every two seconds", began)
		}
	})
}

// A pass that is already running may have read the state before the call of Wait.
func TestWaitIgnoresTheRunningPass(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, ended := passes.New(), 0
		run(t, p, func(time.Time) time.Time {
			sleep(time.Second)
			ended++
			return time.Time{}
		})
		synctest.Wait() // the first pass is running
		if err := p.Wait(t.Context()); err != nil || ended != 2 {
			t.Errorf("got %v after %d passes, want the second one's end", err, ended)
		}
	})
}

func TestWaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := passes.New().Wait(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the end of the context", err)
	}
}

// The pause after a short pass is longer than the pass, so that continuous events are handled in
// batches.
func TestShortPassIsFollowedByMinimumDelay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := passes.New()
		var began []time.Time
		run(t, p, func(now time.Time) time.Time {
			began = append(began, now)
			sleep([]time.Duration{time.Millisecond, 4 * time.Millisecond, 8 * time.Millisecond, 20 * time.Millisecond}[len(began)%4])
			p.Wake()
			return time.Time{}
		})
		sleep(85 * time.Millisecond)
		synctest.Wait()
		want := []time.Duration{0, 14 * time.Millisecond, 32 * time.Millisecond, 72 * time.Millisecond, 77 * time.Millisecond}
		if len(began) < len(want) {
			t.Fatalf("got %d passes, want %d", len(began), len(want))
		}
		for i, at := range want {
			if got := began[i].Sub(began[0]); got != at {
				t.Errorf("pass %d: got %v after the first, want %v", i, got, at)
			}
		}
	})
}

// sleep advances the clock of a bubble.
func sleep(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // time passes immediately in synctest
}

// Delayed requests are handled in one pass; an urgent one is not delayed.
func TestDelayedRequestsShareOnePass(t *testing.T) {
	t.Parallel()
	const took = 20 * time.Millisecond
	for _, tt := range []struct {
		name string
		ask  func(p *passes.Passes)
		want time.Duration
	}{
		{"later", func(p *passes.Passes) { p.WakeLater(); sleep(3 * took); p.WakeLater() }, 11 * took},
		{"at once", func(p *passes.Passes) { p.Wake() }, 2 * took},
		{"later, and then at once", func(p *passes.Passes) { p.WakeLater(); sleep(6 * took); p.Wake() }, 7 * took},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := passes.New()
				began := make(chan time.Time, 8)
				run(t, p, func(now time.Time) time.Time {
					began <- now
					sleep(took)
					return time.Time{}
				})
				sleep(took)
				synctest.Wait()
				tt.ask(p)
				sleep(time.Second)
				if first := <-began; len(began) == 0 || (<-began).Sub(first) != tt.want || len(began) > 1 {
					t.Errorf("got another pass after another time than %v, or %d more", tt.want, len(began))
				}
			})
		})
	}
}
