package rootfs

import (
	"syscall"
	"unsafe"
)

// These prepare the runtime for a fork, as syscall.ForkExec does.

//go:linkname runtimeBeforeFork syscall.runtime_BeforeFork
func runtimeBeforeFork()

//go:linkname runtimeAfterFork syscall.runtime_AfterFork
func runtimeAfterFork()

//go:linkname runtimeAfterForkInChild syscall.runtime_AfterForkInChild
func runtimeAfterForkInChild()

// failure is what a child reports before it ends.
type failure struct {
	step  uintptr
	errno uintptr
}

// fork carries out the steps in a new process with the clone flags, the last of which
// becomes another program. A failure is written to report. The child is a copy of one
// thread of many: it may neither allocate nor grow its stack nor call anything but the
// kernel.
//
//go:noinline
//go:norace
//go:nocheckptr
func fork(list []step, flags uintptr, report int) (pid uintptr, errno syscall.Errno) {
	runtimeBeforeFork()
	pid, errno = forkSteps(list, flags, report)
	runtimeAfterFork()
	return pid, errno
}

//go:noinline
//go:norace
//go:nosplit
//go:nocheckptr
func forkSteps(list []step, flags uintptr, report int) (pid uintptr, errno syscall.Errno) {
	pid, _, errno = syscall.RawSyscall6(syscall.SYS_CLONE, flags, 0, 0, 0, 0, 0)
	if errno != 0 || pid != 0 {
		return pid, errno
	}
	runtimeAfterForkInChild()
	var f failure
	for i := range list {
		c := &list[i]
		r, _, e := syscall.RawSyscall6(c.number, c.args[0], c.args[1], c.args[2], c.args[3], c.args[4], c.args[5])
		if e == 0 && r < c.least {
			e = syscall.EPIPE
		}
		if e != 0 && !c.optional {
			f.step, f.errno = uintptr(i), uintptr(e)
			break
		}
	}
	_, _, _ = syscall.RawSyscall(syscall.SYS_WRITE, uintptr(report), uintptr(unsafe.Pointer(&f)), unsafe.Sizeof(f))
	for {
		_, _, _ = syscall.RawSyscall(syscall.SYS_EXIT_GROUP, 126, 0, 0)
	}
}
