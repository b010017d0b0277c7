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

// Wait returns when the task's shell has ended; then nothing of the task's
// group is left.
func (r *Runtime) Wait(ctx context.Context, id string) (int, error) {
	d := r.containerDir(id)
	if err := r.awaitEnd(ctx, id); err != nil {
		return 0, fmt.Errorf("wait for process %s: %w", id, err)
	}
	r.sweepProcesses(id)
	code, err := d.exitCode()
	if err != nil {
		return 0, fmt.Errorf("wait for process %s: %w", id, err)
	}
	return code, nil
}

// awaitEnd waits by the process id where there is one. That the lock is held
// after the descriptor was opened proves that it is no other process with
// the same id.
func (r *Runtime) awaitEnd(ctx context.Context, id string) error {
	d := r.containerDir(id)
	pid, found, err := r.pidOf(id)
	if err != nil {
		return err
	}
	if !found {
		return d.pollEnd(ctx)
	}
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		// No such process, or no such call in this kernel.
		return d.pollEnd(ctx)
	}
	f := os.NewFile(uintptr(fd), "pidfd")
	defer func() { _ = f.Close() }()
	// The shell of this agent is waited for in any case: it gives the lock back
	// before the last process of an isolated task is gone.
	if alive, err := d.isAlive(); err != nil || !alive && !r.isChild(id) {
		return err
	}
	if err := awaitReadable(ctx, f); err != nil {
		return err
	}
	return ctx.Err()
}

// isChild says whether this agent started the task's shell, and has not reaped it:
// then its id is no other's.
func (r *Runtime) isChild(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ours := r.children[id]
	return ours
}

// awaitReadable waits until the process behind the descriptor has ended.
func awaitReadable(ctx context.Context, f *os.File) error {
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

// pidOf is the shell's: known from its start, or from what it wrote.
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
