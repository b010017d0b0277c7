package inside

import (
	"context"
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// OpenProcess opens a descriptor that becomes readable when the process has exited.
func OpenProcess(pid int) (*os.File, error) {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), "pidfd"), nil
}

// AwaitExit waits until the process of the descriptor has exited.
func AwaitExit(ctx context.Context, f *os.File) error {
	if err := f.SetReadDeadline(time.Time{}); err != nil { // reset after an earlier canceled wait
		return err
	}
	stop := context.AfterFunc(ctx, func() {
		// Interrupt the read below; an error means that it has returned.
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
