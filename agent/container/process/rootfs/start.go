package rootfs

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Fork is p.Fork in a user and a mount namespace of its own, where the program sees
// the tree and remains the same user. It is for agents that are not root.
func (t Tree) Fork(p Program) (pid int, err error) {
	s, err := t.steps()
	if err != nil {
		return 0, err
	}
	c, err := newChild()
	if err != nil {
		return 0, err
	}
	defer c.close()
	list := c.programSteps(s, p)
	if list.err != nil {
		return 0, list.err
	}
	return c.start(list, p)
}

// child is a process to be: it waits for its user's mapping on start, and says on
// report what failed; that is closed without a word when its program starts.
type child struct {
	startRead, startWrite   *os.File
	reportRead, reportWrite *os.File
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
}

// programSteps are all that the child does: it waits, builds its tree and becomes the
// program.
func (c *child) programSteps(tree *steps, p Program) *steps {
	s := &steps{keep: []any{tree}, err: tree.err}
	buffer := new([8]byte)
	s.keep = append(s.keep, buffer)
	s.add("close a pipe", unix.SYS_CLOSE, c.startWrite.Fd())
	s.add("wait for the user namespace", unix.SYS_READ, c.startRead.Fd(), uintptr(unsafe.Pointer(buffer)), 1)
	s.last().least = 1
	s.add("keep mounts to the task", unix.SYS_MOUNT, s.text(""), s.text("/"), s.text(""), unix.MS_REC|unix.MS_SLAVE)
	s.list = append(s.list, tree.list...)
	p.addSteps(s)
	return s
}

// start forks the child and returns when it has become the program.
func (c *child) start(s *steps, p Program) (pid int, err error) {
	flags := uintptr(unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.SIGCHLD)
	report := int(c.reportWrite.Fd())
	syscall.ForkLock.Lock()
	id, errno := fork(s.list, flags, report, &failure{})
	syscall.ForkLock.Unlock()
	runtime.KeepAlive(s)
	if errno != 0 {
		return 0, fmt.Errorf("make a user namespace: %w", p.forkError(errno))
	}
	pid = int(id)
	err = errors.Join(c.reportWrite.Close(), c.letGo(pid))
	if err != nil {
		_ = unix.Kill(pid, unix.SIGKILL)
		return pid, err
	}
	return pid, c.outcome(s, p)
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

// outcome is what failed in the child, if anything did. One that was killed said nothing, and
// neither does one that is the program.
func (c *child) outcome(s *steps, p Program) error {
	buffer := make([]byte, unsafe.Sizeof(failure{}))
	n, err := io.ReadFull(c.reportRead, buffer)
	if n == 0 && errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("the process ended before its program started: %w", err)
	}
	return p.outcome(s, *(*failure)(unsafe.Pointer(&buffer[0])))
}
