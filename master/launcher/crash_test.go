package launcher

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
	cloudtest "github.com/det-deploy/det-deploy/test/fake/cloud"
)

// stuck is a platform whose calls block, before or after they take effect, until it is released.
type stuck struct {
	*cloudtest.FleetPool
	mu       sync.Mutex
	op       cloudtest.Op
	after    bool
	reached  bool
	released bool
}

func (s *stuck) hold(ctx context.Context, op cloudtest.Op, act func() error) error {
	s.mu.Lock()
	hold := s.op == op && !s.released
	s.reached = s.reached || hold
	s.mu.Unlock()
	if hold && !s.after {
		<-ctx.Done()
		return ctx.Err()
	}
	err := act()
	if hold {
		<-ctx.Done()
		return ctx.Err()
	}
	return err
}

func (s *stuck) Launch(ctx context.Context, l cloud.Launch) (out []cloud.Instance, err error) {
	err = s.hold(ctx, cloudtest.OpLaunch, func() error { out, err = s.FleetPool.Launch(ctx, l); return err })
	return out, err
}

func (s *stuck) Terminate(ctx context.Context, ids []cloud.InstanceID) error {
	return s.hold(ctx, cloudtest.OpTerminate, func() error { return s.FleetPool.Terminate(ctx, ids) })
}

// A call that times out is repeated with the same token.
func TestTimedOutCallIsRepeated(t *testing.T) {
	t.Parallel()
	for _, after := range []bool{false, true} {
		t.Run(fmt.Sprintf("after its effect: %v", after), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				platform := &stuck{op: cloudtest.OpLaunch, after: after}
				w := newWorld(t, boot(15*time.Second), func(p *Pool) { platform.FleetPool = p.Instances.(*cloudtest.FleetPool); p.Instances = platform })
				w.later(time.Second).submit("t", 8).later(10 * time.Minute)
				platform.mu.Lock()
				platform.released = true
				platform.mu.Unlock()
				w.later(5 * time.Minute)
				if n := len(w.fleet.Truth("gpu")); n != 1 || !w.runs("t") {
					t.Errorf("got %d machines, running %v; want it to run on the one", n, w.runs("t"))
				}
			})
		})
	}
}

// Wherever the master is killed, the next one completes the open operations: nothing is launched twice
// or forgotten, and no terminated machine is restored.
func TestKilledAtEveryStage(t *testing.T) {
	t.Parallel()
	for _, late := range []time.Duration{0, time.Minute} {
		for _, stage := range []struct {
			name  string
			op    cloudtest.Op
			after bool
			at    time.Duration // kill here at the latest
		}{
			{"before anything", "", false, 10 * time.Millisecond},
			{"before the launch had its effect", cloudtest.OpLaunch, false, 3 * time.Second},
			{"after the launch had its effect", cloudtest.OpLaunch, true, 3 * time.Second},
			{"while the machine starts", "", false, 5 * time.Second},
			{"while the task runs", "", false, time.Minute},
			{"before the termination had its effect", cloudtest.OpTerminate, false, 33 * time.Minute},
			{"after the termination had its effect", cloudtest.OpTerminate, true, 33 * time.Minute},
			{"while the machine ends", "", false, 30*time.Minute + 20*time.Second},
			{"when it is over", "", false, 45 * time.Minute},
		} {
			t.Run(fmt.Sprintf("%s, lists %v late", stage.name, late), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					k := boot(15 * time.Second)
					k.AppearLate, k.ChangeLate = late, late
					platform := &stuck{op: stage.op, after: stage.after}
					w := newWorld(t, k, func(p *Pool) { platform.FleetPool = p.Instances.(*cloudtest.FleetPool); p.Instances = platform })
					began := time.Now()
					w.later(time.Second).submit("t", 8)
					for time.Since(began) < stage.at {
						w.later(time.Second)
						if w.runs("t") && time.Since(began) > 10*time.Minute {
							w.end("t")
						}
						if time.Since(began) > 10*time.Minute && stage.op != cloudtest.OpTerminate && w.alive() == 0 {
							break
						}
					}
					platform.mu.Lock()
					reached := platform.reached
					platform.released = true
					platform.mu.Unlock()
					if stage.op != "" && !reached {
						t.Fatalf("the call %s was never made", stage.op)
					}
					w.restart()
					if time.Since(began) < 10*time.Minute {
						w.later(2 * time.Minute)
						if !w.runs("t") {
							t.Error("the task does not run after the restart")
						}
						w.end("t")
					}
					w.later(30 * time.Minute)
					if n := len(w.fleet.Truth("gpu")); n != 1 || w.alive() != 0 {
						t.Errorf("got %d machines, %d of them left, want one that is gone", n, w.alive())
					}
					w.later(10 * time.Minute)
					history, err := w.History(t.Context(), "gpu")
					if err != nil || len(history) != 1 || history[0].GetState() != "gone" {
						t.Errorf("got %v, %v, want the one machine", history, err)
					}
				})
			})
		}
	}
}
