package lab

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"golang.org/x/sys/unix"
)

// Enter moves this process to a network namespace and a cgroup, if they are given, and executes
// argv in its place. It returns only on an error.
func Enter(netns, cgroup string, argv []string) error {
	if len(argv) == 0 {
		return errors.New("enter: no command is named")
	}
	// A namespace belongs to a thread, and exec replaces the calling one.
	runtime.LockOSThread()
	for _, dir := range trackers(cgroup) {
		if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte("0"), 0o644); err != nil {
			return err
		}
	}
	if err := enterNetwork(netns); err != nil {
		return err
	}
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return err
	}
	return unix.Exec(path, argv, os.Environ())
}

func enterNetwork(name string) error {
	if name == "" {
		return nil
	}
	f, err := os.Open(filepath.Join("/run/netns", name))
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // it was only read
	if err := unix.Setns(int(f.Fd()), unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("enter the network namespace %s: %w", name, err)
	}
	return nil
}
