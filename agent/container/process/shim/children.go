package shim

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/det-deploy/det-deploy/agent/container/process/rootfs"
)

// children are the tasks of a shim.
type children struct {
	// null is what tasks read.
	null *os.File
	// ended is told of each task whose code is written, while mu is held, and idle after the last.
	ended func(task string)
	idle  func()
	// openFiles is the tasks' limit, or nil for this process's own.
	openFiles *unix.Rlimit
	// memory is what the system is to think of a task when memory is short; nil leaves it.
	memory *rootfs.MemoryScore
	// threads are for tasks with mount namespaces.
	threads *rootfs.Threads

	// mu guards what follows. It is held from the fork until the child is known.
	mu     sync.Mutex
	byPID  map[int]child
	forked *sync.Cond
	// some says that there may be a child.
	some bool
}

type child struct {
	task   string
	status int
}

func newChildren(ended func(string), idle func()) (*children, error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, err
	}
	threads, err := rootfs.NewThreads()
	if err != nil {
		return nil, errors.Join(err, null.Close())
	}
	c := &children{null: null, threads: threads, ended: ended, idle: idle, openFiles: rootfs.InheritedLimit(), memory: spareThis(), byPID: map[int]child{}}
	c.forked = sync.NewCond(&c.mu)
	go c.reap()
	return c, nil
}

// each gives the tasks to f while none begins or ends.
func (c *children) each(f func(tasks []string)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []string
	for _, t := range c.byPID {
		all = append(all, t.task)
	}
	f(all)
}

// start starts a task, and closes its files but for the status, which a task that runs has. Begun is
// told before anything can be told of its end.
func (c *children) start(o Order, fds [filesEach]int, begun func(Started)) (err error) {
	status := fds[0]
	var at Started
	defer func() {
		for _, fd := range fds[1:] {
			_ = unix.Close(fd)
		}
		if err != nil {
			_ = unix.Close(status)
		}
	}()
	p := rootfs.Program{
		Argv: o.Argv, Env: o.Env, Dir: o.Dir, Credential: o.Credential, Status: status, OpenFiles: c.openFiles, Memory: c.memory,
		Files: []int{int(c.null.Fd()), fds[1], fds[2]},
	}
	switch o.Placing {
	case AsItIs:
	case InUser:
		p.Reach() // where the task finds it too, mostly
		return c.fork(o.Task, p, o.Tree.Fork, func() { begun(at) })
	case InMounts:
		return c.threads.Run(func() error {
			if err := rootfs.EnterMounts(0); err != nil {
				return err
			}
			var now unix.Timespec
			if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
				return err
			}
			at.At = uint64(now.Nano())
			if at.Space, err = rootfs.MountSpace(); err != nil {
				return err
			}
			if err := o.Tree.Enter(); err != nil {
				return err
			}
			p.Reach()
			return c.fork(o.Task, p, rootfs.Program.Fork, func() { begun(at) })
		})
	}
	p.Reach()
	return c.fork(o.Task, p, rootfs.Program.Fork, func() { begun(at) })
}

// fork makes the process. One that cannot execute its program says so in its output, and ends as
// a shell does.
func (c *children) fork(task string, p rootfs.Program, do func(rootfs.Program) (int, error), begun func()) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	pid, err := do(p)
	if pid != 0 {
		c.some = true
		c.forked.Signal()
	}
	if refused, is := errors.AsType[*rootfs.RefusedError](err); is {
		_, _ = unix.Write(p.Files[2], []byte(refused.Error()+"\n")) // as a shell does, on a full disk too
		err = nil
	}
	if err != nil {
		return fmt.Errorf("start the process: %w", err)
	}
	c.byPID[pid] = child{task: task, status: p.Status}
	begun()
	return nil
}

// reap notes the end of each child, as it comes.
func (c *children) reap() {
	for {
		pid, code := awaitChild()
		if pid == 0 {
			c.mu.Lock()
			for !c.some {
				c.forked.Wait()
			}
			c.some = false
			c.mu.Unlock()
			continue
		}
		c.mu.Lock() // one that was just forked is known then
		t, known := c.byPID[pid]
		c.mu.Unlock()
		if known {
			c.noteEnd(pid, t, code)
		}
		_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil)
		if known {
			c.forget(pid, t.task)
		}
	}
}

func (c *children) forget(pid int, task string) {
	c.mu.Lock()
	delete(c.byPID, pid)
	c.ended(task)
	last := len(c.byPID) == 0
	c.mu.Unlock()
	if last {
		c.idle()
	}
}

// noteEnd ends what a task has left in its group, whose number is no other's until the task is
// reaped, and writes its code. One that was killed before it was the program may not have noted its
// id, which comes first.
func (c *children) noteEnd(pid int, t child, code int) {
	_ = unix.Kill(-pid, unix.SIGKILL)
	var line []byte
	var st unix.Stat_t
	if err := unix.Fstat(t.status, &st); err == nil && st.Size == 0 {
		line = append(strconv.AppendInt(line, int64(pid), 10), '\n')
	}
	line = append(strconv.AppendInt(line, int64(code), 10), '\n')
	for {
		// There is room for it since before the start.
		if _, err := unix.Write(t.status, line); !errors.Is(err, unix.EINTR) {
			break
		}
	}
	_ = unix.Close(t.status)
}

// ending is what waitid says of a child that has ended; the kernel's siginfo_t.
type ending struct {
	_, _, code, _ int32
	pid, _        int32
	status        int32
	_             [100]byte
}

// killedBySignal and dumpedCore are codes of an ending.
const (
	killedBySignal = 2
	dumpedCore     = 3
)

// awaitChild waits for the end of a child, without reaping it, and says what a shell would say that it
// ended with. It is 0 without children.
func awaitChild() (pid, code int) {
	for {
		var e ending
		_, _, errno := unix.Syscall6(unix.SYS_WAITID, unix.P_ALL, 0, uintptr(unsafe.Pointer(&e)), unix.WEXITED|unix.WNOWAIT, 0, 0)
		switch {
		case errno == unix.EINTR:
			continue
		case errno != 0:
			return 0, 0
		}
		if e.code == killedBySignal || e.code == dumpedCore {
			return int(e.pid), 128 + int(e.status)
		}
		return int(e.pid), int(e.status)
	}
}

// spared is how much later than others the system ends a shim for its memory, of 1,000. All its
// tasks would be lost.
const spared = -900

// spareThis has this process be among the last that are ended for memory, where it may, and returns
// what tasks are to have, or nil.
func spareThis() *rootfs.MemoryScore {
	const proc = "/proc"
	name := filepath.Join(proc, rootfs.MemoryFile)
	was, err := os.ReadFile(name)
	if err != nil {
		return nil
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(was)))
	if err != nil || n <= spared {
		return nil
	}
	at, err := unix.Open(proc, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	if os.WriteFile(name, []byte(strconv.Itoa(spared)), 0) != nil {
		_ = unix.Close(at)
		return nil
	}
	return &rootfs.MemoryScore{Proc: at, Text: string(was)}
}
