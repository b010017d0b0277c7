package rootfs

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Program is what a new process becomes, in a session of its own.
type Program struct {
	// Argv is its name, which is looked for as a shell does, and its arguments.
	Argv []string
	// Env is KEY=VALUE, each key once.
	Env []string
	// Dir is where it runs; empty is where this thread is.
	Dir string
	// Credential is the user it runs as, or nil.
	Credential *syscall.Credential
	// Files are what it has open as 0 and so on. None is below its own place there.
	Files []int
	// Status is a file to which the process writes a line with its id before it is the program;
	// 0 is none.
	Status int
	// OpenFiles is its limit of open files, or nil for this process's own.
	OpenFiles *unix.Rlimit
	// Memory is what the system thinks of it when memory is short, or nil for what it thinks of
	// this process.
	Memory *MemoryScore
}

// MemoryScore is what a file says that is called MemoryFile.
type MemoryScore struct {
	// Proc is /proc, open: what stands there for the program may be another's.
	Proc int
	Text string
}

// MemoryFile is where /proc has what the system thinks of a process when memory is short.
const MemoryFile = "self/oom_score_adj"

// RefusedError is a program that cannot be executed. The process has ended with what a shell
// ends with then.
type RefusedError struct {
	Name string
	Err  error
}

func (e *RefusedError) Error() string { return "exec: " + e.Name + ": " + e.Err.Error() }

// Unwrap gives the kernel's reason.
func (e *RefusedError) Unwrap() error { return e.Err }

// Fork makes the process, as a child of this one that sees what this thread sees. It returns when
// the process has become the program. With a RefusedError there is a process, too.
func (p Program) Fork() (pid int, err error) {
	s := &steps{}
	p.addSteps(s)
	if s.err != nil {
		return 0, s.err
	}
	f := &failure{}
	syscall.ForkLock.Lock()
	id, errno := fork(s.list, unix.CLONE_VM|unix.CLONE_VFORK|uintptr(unix.SIGCHLD), -1, f)
	syscall.ForkLock.Unlock()
	runtime.KeepAlive(s)
	if errno != 0 {
		return 0, p.forkError(errno)
	}
	return int(id), p.outcome(s, *f)
}

func (p Program) forkError(errno syscall.Errno) error {
	return &os.PathError{Op: "fork/exec", Path: p.Argv[0], Err: errno}
}

// outcome is what the child said has failed.
func (p Program) outcome(s *steps, f failure) error {
	if f.refused != 0 {
		return &RefusedError{Name: p.Argv[0], Err: syscall.Errno(f.errno)}
	}
	return s.failed(f)
}

// addSteps adds all that a new process does to become the program.
func (p Program) addSteps(s *steps) {
	s.add("begin a session", unix.SYS_SETSID)
	s.limitFiles(p.OpenFiles)
	if m := p.Memory; m != nil { // before it is another user, and has children
		s.add("open "+MemoryFile, unix.SYS_OPENAT, uintptr(m.Proc), s.text(MemoryFile), unix.O_WRONLY|unix.O_CLOEXEC)
		s.last().optional = true
		s.add("write "+MemoryFile, unix.SYS_WRITE, 0, s.text(m.Text), uintptr(len(m.Text)))
		s.last().kind, s.last().optional = toOpened, true
	}
	if p.Credential != nil {
		s.becomeUser(p.Credential)
	}
	if p.Dir != "" {
		s.add("enter "+p.Dir, unix.SYS_CHDIR, s.text(p.Dir))
	}
	for i, fd := range p.Files {
		s.addFile(fd, i)
	}
	if p.Status != 0 {
		s.addWriteID(p.Status)
	}
	p.addExec(s)
}

// limitFiles sets the limit of open files, unless it is nil.
func (s *steps) limitFiles(limit *unix.Rlimit) {
	if limit == nil {
		return
	}
	s.keep = append(s.keep, limit)
	s.add("limit open files", unix.SYS_PRLIMIT64, 0, unix.RLIMIT_NOFILE, uintptr(unsafe.Pointer(limit)), 0)
	s.last().optional = true // it is what this process may open
}

// becomeUser leaves all groups but those of the user.
func (s *steps) becomeUser(c *syscall.Credential) {
	s.add("leave all groups", unix.SYS_SETGROUPS, uintptr(len(c.Groups)), s.numbers(c.Groups))
	s.add("become a member of group "+strconv.Itoa(int(c.Gid)), unix.SYS_SETGID, uintptr(c.Gid))
	s.add("become user "+strconv.Itoa(int(c.Uid)), unix.SYS_SETUID, uintptr(c.Uid))
}

// Reach waits until the directory and the file of the program answer, which those of a server that
// is away do not: this process waits for the one that it makes, with all that it does.
func (p Program) Reach() {
	var st unix.Stat_t
	if p.Dir != "" {
		_ = unix.Stat(p.Dir, &st)
	}
	for _, name := range p.candidates() {
		if !filepath.IsAbs(name) {
			name = filepath.Join(p.Dir, name)
		}
		if unix.Stat(name, &st) == nil {
			return
		}
	}
}

// addFile has the program have a file open at a number.
func (s *steps) addFile(fd, at int) {
	what := "open descriptor " + strconv.Itoa(at)
	if fd == at {
		s.add(what, unix.SYS_FCNTL, uintptr(fd), unix.F_SETFD, 0)
		return
	}
	s.add(what, unix.SYS_DUP3, uintptr(fd), uintptr(at), 0)
}

// addExec adds an attempt for each file that may be the program.
func (p Program) addExec(s *steps) {
	env := s.texts(p.Env)
	argv := s.texts(p.Argv)
	for _, name := range p.candidates() {
		file := s.text(name)
		s.add("run "+name, unix.SYS_EXECVE, file, argv, env)
		s.last().kind = try
		// One that begins with no name of its interpreter is a shell's.
		shell := "/bin/sh"
		s.add("run "+name, unix.SYS_EXECVE, s.text(shell), s.texts(append([]string{shell, name}, p.Argv[min(1, len(p.Argv)):]...)), env)
		s.last().kind = script
	}
}

// usualPath is where a shell looks for programs without a PATH.
const usualPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// candidates are the files that may be the program, in the order of PATH.
func (p Program) candidates() []string {
	name := p.Argv[0]
	if strings.Contains(name, "/") {
		return []string{name}
	}
	if name == "" {
		return nil
	}
	path := usualPath
	for _, e := range p.Env {
		if value, ok := strings.CutPrefix(e, "PATH="); ok {
			path = value
		}
	}
	var out []string
	for _, dir := range strings.Split(path, ":") {
		if dir == "" {
			dir = "."
		}
		out = append(out, strings.TrimSuffix(dir, "/")+"/"+name)
	}
	return out
}
