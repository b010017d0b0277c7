package rootfs

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Start is cmd.Start in a user and a mount namespace of its own, where the program sees
// the tree and remains the same user. It is for agents that are not root. Of cmd it heeds
// Path, Args, Env, Dir, Stdout, Stderr and ExtraFiles; the program leads a session.
func (t Tree) Start(cmd *exec.Cmd) error {
	s, err := t.steps()
	if err != nil {
		return err
	}
	c, err := newChild()
	if err != nil {
		return err
	}
	defer c.close()
	if err := c.openFiles(cmd); err != nil {
		return err
	}
	list, err := c.programSteps(s, cmd)
	if err != nil {
		return err
	}
	pid, err := c.start(list)
	if err != nil {
		return err
	}
	cmd.Process, err = os.FindProcess(pid)
	return err
}

// child is a process to be: it waits for its user's mapping on start, and says on
// report what failed; that is closed without a word when its program starts.
type child struct {
	startRead, startWrite   *os.File
	reportRead, reportWrite *os.File
	// files are the program's descriptors 0 and so on, at numbers that are out of
	// its way.
	files []int
}

func newChild() (*child, error) {
	var c child
	var err error
	if c.startRead, c.startWrite, err = os.Pipe(); err != nil {
		return nil, err
	}
	if c.reportRead, c.reportWrite, err = os.Pipe(); err != nil {
		c.close()
		return nil, err
	}
	return &c, nil
}

func (c *child) close() {
	for _, f := range []*os.File{c.startRead, c.startWrite, c.reportRead, c.reportWrite} {
		if f != nil {
			_ = f.Close()
		}
	}
	for _, fd := range c.files {
		_ = unix.Close(fd)
	}
}

// outOfTheWay is above every descriptor that a program is started with.
const outOfTheWay = 64

func (c *child) openFiles(cmd *exec.Cmd) error {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	defer func() { _ = null.Close() }()
	files := []*os.File{null}
	for _, w := range []io.Writer{cmd.Stdout, cmd.Stderr} {
		f, ok := w.(*os.File)
		if !ok {
			return errors.New("the output of the program must be a file")
		}
		files = append(files, f)
	}
	for _, f := range append(files, cmd.ExtraFiles...) {
		fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, outOfTheWay)
		if err != nil {
			return fmt.Errorf("duplicate %s: %w", f.Name(), err)
		}
		c.files = append(c.files, fd)
	}
	return nil
}

// programSteps are all that the child does: it waits, builds its tree and becomes the
// program.
func (c *child) programSteps(tree *steps, cmd *exec.Cmd) (*steps, error) {
	s := &steps{keep: []any{tree}}
	buffer := new([8]byte)
	s.keep = append(s.keep, buffer)
	s.add("close a pipe", unix.SYS_CLOSE, c.startWrite.Fd())
	s.add("wait for the user namespace", unix.SYS_READ, c.startRead.Fd(), uintptr(unsafe.Pointer(buffer)), 1)
	s.last().least = 1
	s.add("keep mounts to the task", unix.SYS_MOUNT, s.text(""), s.text("/"), s.text(""), unix.MS_REC|unix.MS_SLAVE)
	s.list = append(s.list, tree.list...)
	s.add("begin a session", unix.SYS_SETSID)
	for i, fd := range c.files {
		s.add("open descriptor "+strconv.Itoa(i), unix.SYS_DUP3, uintptr(fd), uintptr(i), 0)
	}
	if cmd.Dir != "" {
		s.add("enter "+cmd.Dir, unix.SYS_CHDIR, s.text(cmd.Dir))
	}
	argv, err1 := syscall.SlicePtrFromStrings(cmd.Args)
	env, err2 := syscall.SlicePtrFromStrings(cmd.Env)
	if err := errors.Join(s.err, err1, err2); err != nil {
		return nil, err
	}
	s.keep = append(s.keep, argv, env)
	s.add("run "+cmd.Path, unix.SYS_EXECVE, s.text(cmd.Path),
		uintptr(unsafe.Pointer(&argv[0])), uintptr(unsafe.Pointer(&env[0])))
	return s, s.err
}

// start forks the child and returns when it has become the program.
func (c *child) start(s *steps) (pid int, err error) {
	flags := uintptr(unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.SIGCHLD)
	report := int(c.reportWrite.Fd())
	syscall.ForkLock.Lock()
	id, errno := fork(s.list, flags, report)
	syscall.ForkLock.Unlock()
	runtime.KeepAlive(s)
	if errno != 0 {
		return 0, fmt.Errorf("make a user namespace: %w", errno)
	}
	pid = int(id)
	err = errors.Join(c.reportWrite.Close(), c.letGo(pid))
	if err == nil {
		err = c.outcome(s)
	}
	if err != nil {
		_ = unix.Kill(pid, unix.SIGKILL)
		_, _ = unix.Wait4(pid, nil, 0, nil) // nothing of it is left
		return 0, err
	}
	return pid, nil
}

// letGo gives the child the user that it has outside, and lets it go on.
func (c *child) letGo(pid int) error {
	proc := "/proc/" + strconv.Itoa(pid) + "/"
	for _, f := range []struct{ name, text string }{
		{"setgroups", "deny"},
		{"gid_map", fmt.Sprintf("%d %d 1\n", os.Getegid(), os.Getegid())},
		{"uid_map", fmt.Sprintf("%d %d 1\n", os.Geteuid(), os.Geteuid())},
	} {
		if err := os.WriteFile(proc+f.name, []byte(f.text), 0); err != nil {
			return fmt.Errorf("map the user of a user namespace: %w", err)
		}
	}
	_, err := c.startWrite.Write([]byte{1})
	return err
}

// outcome is what failed in the child, if anything did.
func (c *child) outcome(s *steps) error {
	buffer := make([]byte, unsafe.Sizeof(failure{}))
	n, err := io.ReadFull(c.reportRead, buffer)
	if n == 0 && errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("the process ended before its program started: %w", err)
	}
	f := *(*failure)(unsafe.Pointer(&buffer[0]))
	return fmt.Errorf("%s: %w", s.list[f.step].what, syscall.Errno(f.errno))
}
