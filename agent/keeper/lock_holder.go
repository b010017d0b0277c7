package keeper

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

// A keeper holds a lock of the kind of which the system tells the owner's process id,
// so that no id in a file has to be believed.
func wholeFile(kind int16) *unix.Flock_t { return &unix.Flock_t{Type: kind} }

func lockFile(dir string) string { return filepath.Join(dir, "keeper") }

const (
	// endPatience bounds the end of a keeper that was killed.
	endPatience = 10 * time.Second
	endPause    = 10 * time.Millisecond
)

// holdLock makes this process the keeper of a data_dir, in the place of the one before. It
// is held as long as the file is open.
func holdLock(ctx context.Context, dir string) (*os.File, error) {
	f, err := os.OpenFile(lockFile(dir), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err := unix.FcntlFlock(f.Fd(), unix.F_SETLK, wholeFile(unix.F_WRLCK))
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EACCES) {
			return nil, errors.Join(err, f.Close())
		}
		if err := endHolder(ctx, f); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
}

// End ends the keeper of a data_dir, if there is one, and waits until it is gone.
func End(ctx context.Context, dir string) error {
	f, err := os.OpenFile(lockFile(dir), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = errors.Join(endHolder(ctx, f), f.Close())
	}
	if err != nil {
		return fmt.Errorf("end the keeper of data_dir %s: %w", dir, err)
	}
	return nil
}

// Holder is the process id of the keeper of a data_dir, or 0.
func Holder(dir string) int {
	f, err := os.OpenFile(lockFile(dir), os.O_RDWR, 0)
	if err != nil {
		return 0
	}
	defer func() { _ = f.Close() }()
	pid, _ := lockHolder(f) // 0: no process to end
	return pid
}

func lockHolder(f *os.File) (pid int, err error) {
	l := wholeFile(unix.F_WRLCK)
	if err := unix.FcntlFlock(f.Fd(), unix.F_GETLK, l); err != nil || l.Type == unix.F_UNLCK {
		return 0, err
	}
	if l.Pid <= 0 {
		return 0, errors.New("a keeper of another namespace of processes holds it; end that")
	}
	return int(l.Pid), nil
}

// endHolder kills the process that holds the lock, repeatedly, since another may take it in
// between. The next keeper does what the killed one had left.
func endHolder(ctx context.Context, f *os.File) error {
	ctx, cancel := context.WithTimeout(ctx, endPatience)
	defer cancel()
	for {
		pid, err := lockHolder(f)
		if err != nil || pid == 0 {
			return err
		}
		if err := killHolder(f, pid); err != nil {
			return err
		}
		if err := wait.For(ctx, endPause); err != nil {
			return fmt.Errorf("process %d holds it and does not end: %w", pid, err)
		}
	}
}

// killHolder kills the process if it still is the holder.
func killHolder(f *os.File, pid int) error {
	return process.SignalIf(pid, unix.SIGKILL, func() (bool, error) {
		now, err := lockHolder(f)
		return now == pid, err
	})
}
