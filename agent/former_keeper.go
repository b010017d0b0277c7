package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/det-deploy/det-deploy/internal/process"
	"github.com/det-deploy/det-deploy/internal/wait"
)

// keeperPatience is the timeout for a killed keeper to exit.
const keeperPatience = 10 * time.Second

// endFormerKeeper kills the keeper of an earlier version, a process that ended preemptible tasks in
// the agent's place, and removes its files. The kernel reports the owner of its POSIX lock, so no
// process ID in a file has to be trusted. The caller holds the lock of dir.
//
// It serves updates from the last version with keepers. Remove this file in the release after the
// first one without them.
func endFormerKeeper(ctx context.Context, dir string) error {
	name := filepath.Join(dir, "keeper")
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		defer func() { _ = f.Close() }() // nothing was written
		err = endLockHolder(ctx, f)
	}
	if err == nil {
		err = errors.Join(os.Remove(name), os.RemoveAll(name+".log"))
	}
	if err != nil {
		return fmt.Errorf("stop the keeper of data_dir %s: %w", dir, err)
	}
	return nil
}

// endLockHolder kills the process that holds the lock of f and waits until it has exited.
func endLockHolder(ctx context.Context, f *os.File) error {
	ctx, cancel := context.WithTimeout(ctx, keeperPatience)
	defer cancel()
	for last := 0; ; {
		pid, err := lockHolder(f)
		if err != nil {
			return err
		}
		if pid == 0 {
			if last != 0 {
				// After an update in place it is a child of this process.
				_, _ = unix.Wait4(last, nil, 0, nil)
			}
			return nil
		}
		last = pid
		err = process.SignalIf(pid, unix.SIGKILL, func() (bool, error) {
			now, err := lockHolder(f)
			return now == pid, err
		})
		if err != nil {
			return err
		}
		if err := wait.For(ctx, 10*time.Millisecond); err != nil {
			return fmt.Errorf("process %d does not exit: %w", pid, err)
		}
	}
}

// lockHolder returns the ID of the process that holds the lock of f, or 0.
func lockHolder(f *os.File) (pid int, err error) {
	l := &unix.Flock_t{Type: unix.F_WRLCK}
	if err := unix.FcntlFlock(f.Fd(), unix.F_GETLK, l); err != nil || l.Type == unix.F_UNLCK {
		return 0, err
	}
	if l.Pid <= 0 {
		return 0, errors.New("it runs in another PID namespace; kill it there")
	}
	return int(l.Pid), nil
}
