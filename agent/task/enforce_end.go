package task

import (
	"context"
	"sync"
	"time"

	"github.com/det-deploy/det-deploy/agent/container"
)

// beginEnforcing starts enforcing requests to end the container, until stop is called, which waits.
// It starts a goroutine only on the first request, because few containers get one.
func (u *Task) beginEnforcing(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	u.mu.Lock()
	defer u.mu.Unlock()
	u.enforce = sync.OnceFunc(func() { running.Go(func() { u.enforceEnd(ctx) }) })
	if u.state.Terminate || u.state.KillAtMicros != 0 {
		u.enforce()
	}
	return func() {
		u.mu.Lock()
		u.enforce = nil
		u.mu.Unlock()
		cancel()
		running.Wait()
	}
}

// enforceEnd carries out requests to end the container. SIGTERM may be delayed, because a runtime
// waits for a process that can receive it; SIGKILL is not.
func (u *Task) enforceEnd(ctx context.Context) {
	var asking sync.WaitGroup
	defer asking.Wait()
	politely, giveUp := context.WithCancel(ctx)
	defer giveUp()
	asked := false
	for {
		u.mu.Lock()
		terminate, killAt := u.state.Terminate, u.state.KillAtMicros
		u.mu.Unlock()
		var timer <-chan time.Time
		switch now := time.Now().UnixMicro(); {
		case killAt != 0 && now >= killAt:
			giveUp()
			timer = u.sendSignal(ctx, container.Kill)
		case terminate && !asked:
			asked = true
			asking.Go(func() { u.sendTerminate(politely) })
			continue
		case killAt != 0:
			timer = time.After(time.Duration(killAt-now) * time.Microsecond)
		}
		select {
		case <-ctx.Done():
			return
		case <-u.poke:
		case <-timer:
		}
	}
}

// sendTerminate sends SIGTERM and retries until it succeeds.
func (u *Task) sendTerminate(ctx context.Context) {
	for {
		again := u.sendSignal(ctx, container.Terminate)
		if again == nil {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-again:
		}
	}
}

// sendSignal sends a signal. If that fails, it returns a channel that fires when to retry.
func (u *Task) sendSignal(ctx context.Context, s container.Signal) <-chan time.Time {
	u.Log.Info("stopping container", "signal", string(s))
	if err := u.cfg.Runtime.Signal(ctx, u.ID(), s); err != nil && ctx.Err() == nil {
		u.Log.Warn("cannot signal container; retrying", "err", err)
		return time.After(retryPause)
	}
	return nil
}
