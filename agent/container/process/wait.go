package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// pollInterval is how often a process is looked at that cannot be waited for.
const pollInterval = 50 * time.Millisecond

// Wait returns when the task has ended; then nothing of its group is left.
func (r *Runtime) Wait(ctx context.Context, id string) (int, error) {
	h := r.heldOf(id)
	s, known := r.endOf(h)
	if !known {
		var err error
		if s, err = r.awaitEnd(ctx, id); err != nil {
			return 0, fmt.Errorf("wait for process %s: %w", id, err)
		}
		if r.sweepProcesses(id, s) {
			r.noteEnd(h, s)
		}
	}
	code, err := r.containerDir(id).exitCode(s)
	if err != nil {
		return 0, fmt.Errorf("wait for process %s: %w", id, err)
	}
	return code, nil
}

// awaitEnd waits for what the task's shim says, if it is connected. When that says no more, the
// lock is free but for a moment. It returns what the task's parent wrote.
func (r *Runtime) awaitEnd(ctx context.Context, id string) (status, error) {
	d := r.containerDir(id)
	if ended := r.shims.Ended(string(d)); ended != nil {
		select {
		case <-ctx.Done():
			return status{}, ctx.Err()
		case <-ended:
		}
	}
	if !r.isChild(id) { // which gives the lock back before the last process of the task is gone
		if s, alive, err := d.inspectStatus(); err != nil || !alive {
			return s, err
		}
	}
	if err := r.awaitFirst(ctx, id); err != nil {
		return status{}, err
	}
	return d.readStatus()
}

// awaitFirst waits for the first process and for the lock.
func (r *Runtime) awaitFirst(ctx context.Context, id string) error {
	pid, found, err := r.pidOf(id)
	if err != nil {
		return err
	}
	if found {
		if err := r.awaitProcess(ctx, id, pid); err != nil {
			return err
		}
		if r.isChild(id) {
			return nil
		}
	}
	return r.containerDir(id).pollEnd(ctx)
}

// awaitProcess waits by the process id. That the lock is held after the descriptor was opened
// proves that it is no other process with the same id. The lock is looked at from time to time:
// a shim that is not connected may end before its task.
func (r *Runtime) awaitProcess(ctx context.Context, id string, pid int) error {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil { // no such process, or no such call in this kernel
		return nil // the lock tells
	}
	f := os.NewFile(uintptr(fd), "pidfd")
	defer func() { _ = f.Close() }()
	for {
		// The first process of this agent's isolated task is waited for in any case: it gives the lock
		// back before the last process of the task is gone.
		ours := r.isChild(id)
		if alive, err := r.containerDir(id).isAlive(); err != nil || !alive && !ours {
			return err
		}
		wait, cancel := ctx, func() {}
		if !ours {
			wait, cancel = context.WithTimeout(ctx, lookInterval)
		}
		err := awaitReadable(wait, f)
		cancel()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
	}
}

// isChild says whether this agent started the first process of an isolated task, and has not
// reaped it: then its id is no other's.
func (r *Runtime) isChild(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ours := r.children[id]
	return ours
}

// awaitReadable waits until the process behind the descriptor has ended.
func awaitReadable(ctx context.Context, f *os.File) error {
	if err := f.SetReadDeadline(time.Time{}); err != nil { // an earlier wait was given up
		return err
	}
	stop := context.AfterFunc(ctx, func() {
		// Ends the read below; an error would mean that it has ended.
		_ = f.SetReadDeadline(time.Unix(1, 0))
	})
	defer stop()
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var pollErr error
	err = conn.Read(func(fd uintptr) bool {
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		var n int
		n, pollErr = unix.Poll(fds, 0)
		if errors.Is(pollErr, unix.EINTR) {
			pollErr = nil
			return false
		}
		return n > 0 || pollErr != nil
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return errors.Join(err, pollErr)
}

// pollEnd waits for the lock to become free.
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

// pidOf is the first process's id: known from its start, or from what it wrote.
func (r *Runtime) pidOf(id string) (pid int, found bool, err error) {
	r.mu.Lock()
	pid, found = r.children[id]
	r.mu.Unlock()
	if found {
		return pid, true, nil
	}
	s, err := r.containerDir(id).readStatus()
	return s.pid, s.started, err
}
