package booter

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

func netns(name string) string { return "/run/netns/" + name }

// within calls act in another network namespace. A socket belongs to the namespace in which it was
// opened.
func within(name string, act func() error) error {
	there, err := os.Open(netns(name))
	if err != nil {
		return err
	}
	defer func() { _ = there.Close() }() // it was only entered
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		home, err := os.Open("/proc/thread-self/ns/net")
		if err != nil {
			done <- err
			return
		}
		defer func() { _ = home.Close() }() // it was only entered
		if err := unix.Setns(int(there.Fd()), unix.CLONE_NEWNET); err != nil {
			done <- fmt.Errorf("enter the network %s: %w", name, err)
			return
		}
		err = act()
		if back := unix.Setns(int(home.Fd()), unix.CLONE_NEWNET); back != nil {
			done <- errors.Join(err, fmt.Errorf("leave the network %s: %w", name, back))
			return // the thread stays locked and exits with its goroutine
		}
		runtime.UnlockOSThread()
		done <- err
	}()
	return <-done
}
