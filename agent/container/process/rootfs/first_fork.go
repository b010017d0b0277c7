package rootfs

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// First is the first process of a process namespace, and what it has open: as 0, 1 and so on, in
// this order. None is below 8; see Above.
type First struct {
	// Input and Output, for what goes wrong Errors, are the task's.
	Input, Output, Errors *os.File
	// Status is the locked file for the id of the process and the code of the program.
	Status *os.File
	// Order is from Program.Order.
	Order *os.File
	// Mounts is the mount namespace in which the program runs; this one has the namespace of the
	// thread that makes it.
	Mounts *os.File
	// Program is from NewFirst.
	Program *os.File
	// OpenFiles is the limit of open files, or nil for this process's own.
	OpenFiles *unix.Rlimit
	// Drop are capabilities that neither it nor what it starts can have.
	Drop []int
}

// What a first process has open besides what is the task's.
const (
	firstStatus = iota + 3
	firstOrder
	firstMounts
)

// firstName is what the process is called.
const firstName = "det-deploy-task"

// Fork makes the process in what this thread sees, with a /proc of its own. It notes its id, as
// /proc of this thread knows it, before it starts the program.
func (f First) Fork() (pid int, err error) {
	s := f.steps()
	if s.err != nil {
		return 0, s.err
	}
	failed := &failure{}
	flags := uintptr(unix.CLONE_VM | unix.CLONE_VFORK | unix.CLONE_NEWPID | unix.SIGCHLD)
	syscall.ForkLock.Lock()
	id, errno := fork(s.list, flags, -1, failed)
	syscall.ForkLock.Unlock()
	runtime.KeepAlive(s)
	runtime.KeepAlive(f)
	if errno != 0 {
		return 0, fmt.Errorf("make a process namespace: %w", errno)
	}
	if err := s.failed(*failed); err != nil {
		_, _ = unix.Wait4(int(id), nil, 0, nil) // it has ended
		return 0, err
	}
	return int(id), nil
}

func (f First) steps() *steps {
	s := &steps{}
	s.add("begin a session", unix.SYS_SETSID)
	s.limitFiles(f.OpenFiles)
	s.dropCapabilities(f.Drop)
	line := new([lineRoom]byte)
	s.keep = append(s.keep, line)
	at := uintptr(unsafe.Pointer(line))
	s.add("look for the process's own id", unix.SYS_READLINKAT, cwd, s.text("/proc/self"), at, lineRoom-1)
	s.last().kind, s.last().line, s.last().least = readLine, line, 1
	s.mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
	for i, o := range []*os.File{f.Input, f.Output, f.Errors, f.Status, f.Order, f.Mounts} {
		s.addFile(int(o.Fd()), i)
	}
	s.add("note the process", unix.SYS_WRITE, firstStatus, at, 0)
	s.last().kind, s.last().least = writeLine, 2
	s.add("start the first process", unix.SYS_EXECVEAT, f.Program.Fd(), s.text(""), s.texts([]string{firstName}), s.texts(nil), unix.AT_EMPTY_PATH)
	return s
}

// dropCapabilities takes capabilities from the process for good, as soon as it is another program, and
// what a program could get by being executed.
func (s *steps) dropCapabilities(all []int) {
	s.add("set no_new_privs", unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1)
	s.add("clear the ambient capabilities", unix.SYS_PRCTL, unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL)
	s.last().optional = true // a kernel without ambient capabilities has none to clear
	for _, c := range all {
		s.add("drop capability "+strconv.Itoa(c), unix.SYS_PRCTL, unix.PR_CAPBSET_DROP, uintptr(c))
	}
}
