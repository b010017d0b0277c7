package rootfs

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// InheritedLimit is the limit of open files that this process was started with, as its children
// have it; nil is what it has now. Go has raised its own, and tells only what it starts.
func InheritedLimit() *unix.Rlimit {
	cmd := syscall.ProcAttr{Env: []string{}}
	pid, err := syscall.ForkExec("/bin/sh", []string{"sh", "-c", ":"}, &cmd)
	if err != nil {
		return nil
	}
	var limit unix.Rlimit
	err = unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &limit)
	_, _ = unix.Wait4(pid, nil, 0, nil)
	if err != nil {
		return nil
	}
	return &limit
}
