package task

import (
	"context"
	"sync"
	"time"

	"github.com/det-deploy/det-deploy/agent/container"
)

// beginEnforcing has a wish that the container end carried out from now on until stop is called,
// which waits. Few containers are asked to end: there is no goroutine until one is.
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

// enforceEnd carries out the wish that the container end. SIGTERM may take long to send: a runtime
// waits until there is a program that it can reach. SIGKILL does not wait for that.
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

// sendTerminate sends SIGTERM, and tries again until that succeeds.
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

// sendSignal sends one, and returns when to try again if that failed.
func (u *Task) sendSignal(ctx context.Context, s container.Signal) <-chan time.Time {
	u.Log.Info("ending container", "signal", string(s))
	if err := u.cfg.Runtime.Signal(ctx, u.ID(), s); err != nil && ctx.Err() == nil {
		u.Log.Warn("cannot signal container, trying again", "err", err)
		return time.After(retryPause)
	}
	return nil
}
