package launcher

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/master/rm"
	cloudtest "github.com/det-deploy/det-deploy/test/fake/cloud"
	"github.com/det-deploy/det-deploy/test/fake/cloud/faults"
)

// answers is a platform with the given errors for the first launches; the very first launch takes effect
// nevertheless.
type answers struct {
	*cloudtest.FleetPool
	mu   sync.Mutex
	made int
	say  []cloud.Kind
}

func (a *answers) Launch(ctx context.Context, l cloud.Launch) ([]cloud.Instance, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.made++
	if a.made > len(a.say) {
		return a.FleetPool.Launch(ctx, l)
	}
	if a.made == 1 {
		if _, err := a.FleetPool.Launch(ctx, l); err != nil {
			return nil, err
		}
	}
	return nil, &cloud.Error{Kind: a.say[a.made-1], Op: "test:launch"}
}

// The answer to a launch that gave a machine is lost, and the call cannot be repeated for a while. The
// launcher must not make another launch.
func TestAmbiguousLaunchIsNotDuplicated(t *testing.T) {
	t.Parallel()
	for _, kind := range []cloud.Kind{
		cloud.RateLimited, cloud.Unavailable, cloud.Denied, cloud.Unknown, cloud.Ambiguous, cloud.Invalid, cloud.NotFound, cloud.Conflict,
	} {
		for _, killed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, killed %v", kind, killed), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					k := boot(10 * time.Second)
					k.AppearLate = time.Minute
					w := newWorld(t, k, func(p *Pool) {
						p.Instances = &answers{
							FleetPool: p.Instances.(*cloudtest.FleetPool),
							say:       []cloud.Kind{cloud.Ambiguous, kind, kind, kind, kind, kind},
						}
					})
					w.later(time.Second).submit("t", 8)
					time.Sleep(time.Second / 2) //nolint:forbidigo // time passes immediately in synctest
					if killed {
						w.restart()
					}
					w.later(20 * time.Minute)
					if n := len(w.fleet.Truth("gpu")); n != 1 || !w.runs("t") {
						t.Errorf("got %d machines, running %v; want it to run on the one", n, w.runs("t"))
					}
				})
			})
		}
	}
}

func TestExpiredLaunchIsNotRepeated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, boot(10*time.Second))
		w.later(time.Second)
		w.fleet.FailAt(1, faults.KillBefore)
		w.submit("t", 8)
		time.Sleep(200 * time.Millisecond) //nolint:forbidigo // time passes immediately in synctest
		w.kill()
		time.Sleep(48 * time.Hour) //nolint:forbidigo // time passes immediately in synctest
		w.fleet.Revive()
		before := w.launches()
		w.begin()               // the scheduler takes its time
		time.Sleep(time.Minute) //nolint:forbidigo // time passes immediately in synctest
		if n := w.launches() - before; n != 0 {
			t.Errorf("got %d launches, want none: the token is forgotten by now", n)
		}
		w.pass()
		w.later(time.Minute)
		if n := len(w.fleet.Truth("gpu")); n != 1 || !w.runs("t") {
			t.Errorf("got %d machines, running %v; want it to run on one of a new launch", n, w.runs("t"))
		}
	})
}

func TestDelayedRetryHasAReason(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, boot(time.Hour), func(p *Pool) {
			p.Instances = &answers{FleetPool: p.Instances.(*cloudtest.FleetPool), say: []cloud.Kind{cloud.Ambiguous, cloud.Denied}}
		})
		w.later(time.Second).submit("t", 8).later(5 * time.Second)
		const want = "the master lacks the permission to launch machines"
		if got := w.Waits("gpu", rm.AllocationID("t")); len(got) < len(want) || got[:len(want)] != want {
			t.Errorf("got %q, want %q and more", got, want)
		}
	})
}
