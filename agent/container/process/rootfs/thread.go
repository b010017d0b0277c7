package rootfs

import (
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"
)

// ThreadMounts is the mount namespace of the thread that opens it.
const ThreadMounts = "/proc/thread-self/ns/mnt"

// OnOwnThread runs f on a thread that ends with it, and with it what f made of it:
// namespaces and capabilities are a thread's. The process's first thread never
// ends, and is what others see as the process, so it is never that.
func OnOwnThread(f func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // for good
		if unix.Gettid() != unix.Getpid() {
			done <- f()
			return
		}
		done <- OnOwnThread(f)
		runtime.UnlockOSThread()
	}()
	return <-done
}

// EnterMounts gives this thread a mount namespace of its own, and others that the flags name.
func EnterMounts(flags int) error {
	if err := unix.Unshare(unix.CLONE_NEWNS | flags); err != nil {
		return fmt.Errorf("unshare: %w", err)
	}
	// What the machine unmounts goes here, too; nothing comes back.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
		return fmt.Errorf("keep mounts to the task: %w", err)
	}
	return nil
}

// MountSpace is the number of this thread's mount namespace.
func MountSpace() (uint64, error) {
	var st unix.Stat_t
	err := unix.Stat(ThreadMounts, &st)
	return st.Ino, err
}
