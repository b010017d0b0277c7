package rootfs

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// These prepare the runtime for a fork, as syscall.ForkExec does.

//go:linkname runtimeBeforeFork syscall.runtime_BeforeFork
func runtimeBeforeFork()

//go:linkname runtimeAfterFork syscall.runtime_AfterFork
func runtimeAfterFork()

//go:linkname runtimeAfterForkInChild syscall.runtime_AfterForkInChild
func runtimeAfterForkInChild()

// vfork is clone with flags among which is CLONE_VFORK, and no stack.
//
//go:noescape
func vfork(flags uintptr) (pid, errno uintptr)

// failure is what a child reports before it ends.
type failure struct {
	step  uintptr
	errno uintptr
	// refused says that all was done, and that the program cannot be executed.
	refused uintptr
}

// fork carries out the steps in a new process with the clone flags, the last of which
// becomes another program. A failure is written to f, which the child of a vfork shares, and
// to report, unless that is negative. The child is a copy of one thread of many, or borrows
// it: it may neither allocate nor grow its stack nor call anything but the kernel.
//
//go:noinline
//go:norace
//go:nocheckptr
func fork(list []step, flags uintptr, report int, f *failure) (pid uintptr, errno syscall.Errno) {
	runtimeBeforeFork()
	pid, errno = forkSteps(list, flags, report, f)
	runtimeAfterFork()
	return pid, errno
}

// forkSteps returns at once in the parent, and never in the child, which may have its frame.
//
//go:noinline
//go:norace
//go:nosplit
//go:nocheckptr
func forkSteps(list []step, flags uintptr, report int, f *failure) (pid uintptr, errno syscall.Errno) {
	if flags&unix.CLONE_VFORK != 0 {
		id, failed := vfork(flags)
		if failed != 0 || id != 0 {
			return id, syscall.Errno(failed)
		}
	} else {
		pid, _, errno = syscall.RawSyscall6(syscall.SYS_CLONE, flags, 0, 0, 0, 0, 0)
		if errno != 0 || pid != 0 {
			return pid, errno
		}
	}
	runtimeAfterForkInChild()
	code := doSteps(list, f)
	if report >= 0 {
		_, _, _ = syscall.RawSyscall(syscall.SYS_WRITE, uintptr(report), uintptr(unsafe.Pointer(f)), unsafe.Sizeof(*f))
	}
	for {
		_, _, _ = syscall.RawSyscall(syscall.SYS_EXIT_GROUP, code, 0, 0)
	}
}

// What a shell ends with that finds no program, or none that it may execute.
const (
	notExecutable = 126
	notFound      = 127
)

// doSteps returns when one has failed, with what the child ends with.
//
//go:noinline
//go:norace
//go:nosplit
//go:nocheckptr
func doSteps(list []step, f *failure) (code uintptr) {
	refusal, last, opened, length := syscall.ENOENT, syscall.Errno(0), uintptr(0), uintptr(0)
	for i := range list {
		c := &list[i]
		if c.kind == script && last != syscall.ENOEXEC {
			continue
		}
		if c.kind == writeID {
			id, _, _ := syscall.RawSyscall(syscall.SYS_GETPID, 0, 0, 0)
			c.args[1], c.args[2] = putLine(c.line, id)
		}
		if c.kind == toOpened {
			c.args[0] = opened
		}
		if c.kind == writeLine {
			c.args[2] = length
		}
		r, _, e := syscall.RawSyscall6(c.number, c.args[0], c.args[1], c.args[2], c.args[3], c.args[4], c.args[5])
		if e == 0 && r < c.least {
			e = syscall.EPIPE
		}
		last, opened = e, r
		if c.kind == readLine && e == 0 {
			*(*byte)(unsafe.Add(unsafe.Pointer(c.line), r)) = '\n'
			length = r + 1
		}
		switch {
		case c.kind == try || c.kind == script:
			// Of several, what is there and cannot be executed says more.
			if e != syscall.ENOENT && e != syscall.ENOTDIR {
				refusal = e
			}
		case e != 0 && !c.optional:
			f.step, f.errno = uintptr(i), uintptr(e)
			return notExecutable
		}
	}
	f.errno, f.refused = uintptr(refusal), 1
	if refusal == syscall.ENOENT || refusal == syscall.ENOTDIR || refusal == syscall.ELOOP || refusal == syscall.ENAMETOOLONG {
		return notFound
	}
	return notExecutable
}

// lineRoom holds any number and the end of its line.
const lineRoom = 24

// putLine writes a number at the end of a buffer, and says where it begins and how long it is.
//
//go:norace
//go:nosplit
//go:nocheckptr
func putLine(buffer *[lineRoom]byte, n uintptr) (at, length uintptr) {
	i := uintptr(lineRoom - 1)
	*(*byte)(unsafe.Add(unsafe.Pointer(buffer), i)) = '\n'
	for {
		i--
		*(*byte)(unsafe.Add(unsafe.Pointer(buffer), i)) = byte('0' + n%10)
		if n /= 10; n == 0 {
			return uintptr(unsafe.Pointer(buffer)) + i, lineRoom - i
		}
	}
}
