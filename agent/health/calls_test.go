package health

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/det-deploy/det-deploy/agent/container"
)

// calls are the system calls of the start of a container, with their errors as Go's library and the
// runtimes return them.
func calls() map[string]func(unix.Errno) error {
	path := func(op string) func(unix.Errno) error {
		return func(e unix.Errno) error { return &fs.PathError{Op: op, Path: "/x", Err: e} }
	}
	link := func(op string) func(unix.Errno) error {
		return func(e unix.Errno) error { return &os.LinkError{Op: op, Old: "/x", New: "/y", Err: e} }
	}
	system := func(name string) func(unix.Errno) error {
		return func(e unix.Errno) error { return os.NewSyscallError(name, e) }
	}
	return map[string]func(unix.Errno) error{
		"mkdir": path("mkdir"), "open": path("open"), "write": path("write"), "sync": path("sync"), "readdir": path("readdirent"),
		"lstat": path("lstat"), "chown": path("lchown"), "chmod": path("chmod"), "truncate": path("truncate"), "remove": path("unlinkat"),
		"fork": path("fork/exec"), "rename": link("rename"), "symlink": link("symlink"), "pipe": system("pipe2"), "close_range": system("close_range"),
		"flock":     func(e unix.Errno) error { return fmt.Errorf("lock the container: %w", e) },
		"fallocate": func(e unix.Errno) error { return fmt.Errorf("reserve space for the status file: %w", e) },
		"socket": func(e unix.Errno) error {
			return &net.OpError{Op: "dial", Net: "unix", Err: os.NewSyscallError("socket", e)}
		},
		"connect": func(e unix.Errno) error {
			return &net.OpError{Op: "dial", Net: "unix", Err: os.NewSyscallError("connect", e)}
		},
		"runc starts its first process": func(e unix.Errno) error {
			return container.MachineError("unable to start init: fork/exec /proc/self/exe: " + e.Error())
		},
		"an engine starts its shim": func(e unix.Errno) error {
			return container.MachineError("failed to start shim: start failed: : fork/exec /usr/bin/containerd-shim-runc-v2: " + e.Error() + ": unknown")
		},
		"runc clones": func(e unix.Errno) error {
			return container.MachineError("nsexec-1[7]: unable to spawn stage-2: " + e.Error())
		},
	}
}

// A lack of the machine that any system call of a start meets is never the task's failure.
func TestLackInEverySystemCallOfAStart(t *testing.T) {
	t.Parallel()
	for name, call := range calls() {
		for errno, want := range map[unix.Errno]Lack{
			unix.EMFILE: Descriptors, unix.ENFILE: Descriptors, unix.ENOSPC: Disk, unix.ENOMEM: Memory, unix.EAGAIN: Processes,
		} {
			err := errors.Join(fmt.Errorf("start the process: %w", &container.NeverRanError{Err: call(errno)}))
			if got := LackOf(err); got != want {
				t.Errorf("%s: %v: got %q, want %q", name, errno, got, want)
			}
		}
	}
}
