package keeper

import (
	"context"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// timer waits by the clock that includes suspension. Nothing runs meanwhile.
type timer struct {
	fd   int
	file *os.File
}

func newTimer() (*timer, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_BOOTTIME, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("make a timer: %w", err)
	}
	return &timer{fd, os.NewFile(uintptr(fd), "timer")}, nil
}

// waitUntil returns at a time since the machine started, or when ctx ends.
func (t *timer) waitUntil(ctx context.Context, at time.Duration) error {
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(max(1, at.Nanoseconds()))}
	if err := unix.TimerfdSettime(t.fd, unix.TFD_TIMER_ABSTIME, &spec, nil); err != nil {
		return fmt.Errorf("set a timer: %w", err)
	}
	stop := context.AfterFunc(ctx, func() {
		_ = t.file.SetReadDeadline(time.Unix(1, 0)) // ends the read below
	})
	defer stop()
	_, err := t.file.Read(make([]byte, 8))
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

func (t *timer) close() { _ = t.file.Close() }
