package process

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/det-deploy/det-deploy/agent/container/inside"
	"github.com/det-deploy/det-deploy/internal/wait"
)

const (
	// pollInterval is the interval between checks of a lock if waiting is not possible.
	pollInterval = 50 * time.Millisecond
	// lookInterval is the interval between checks of the lock while waiting for its process,
	// because a task's wrapper may release it before it exits.
	lookInterval = time.Second
)

// Wait waits until the task has exited and no process of its group or container is left.
func (r *Runtime) Wait(ctx context.Context, id string) (int, error) {
	d := r.containerDir(id)
	s, err := d.awaitEnd(ctx)
	code := 0
	if err == nil {
		code, err = d.exitCode(s)
	}
	if err != nil {
		return 0, fmt.Errorf("wait for process %s: %w", id, err)
	}
	return code, nil
}

// awaitEnd returns the final status written by the wrapper.
func (d dir) awaitEnd(ctx context.Context) (status, error) {
	if d.hasBundle() {
		if err := d.sandbox().await(ctx); err != nil {
			return status{}, err
		}
		return d.readStatus()
	}
	for {
		s, alive, err := d.inspectStatus()
		if err != nil || !alive {
			if err == nil {
				d.sweepProcesses(s)
			}
			return s, err
		}
		if s.started {
			err = d.awaitProcess(ctx, s.pid)
		}
		if err == nil {
			err = wait.For(ctx, killInterval)
		}
		if err != nil {
			return s, err
		}
	}
}

// awaitProcess waits until a process has exited, or the lock is released. If the lock is held after
// the descriptor was opened, the process ID has not been reused.
func (d dir) awaitProcess(ctx context.Context, pid int) error {
	f, err := inside.OpenProcess(pid)
	if err != nil {
		return d.pollEnd(ctx)
	}
	defer func() { _ = f.Close() }()
	for {
		if alive, err := d.isAlive(); err != nil || !alive {
			return err
		}
		wait, cancel := context.WithTimeout(ctx, lookInterval)
		err := inside.AwaitExit(wait, f)
		cancel()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
	}
}

// pollEnd waits until the lock is released.
func (d dir) pollEnd(ctx context.Context) error {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		alive, err := d.isAlive()
		if err != nil || !alive {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}
