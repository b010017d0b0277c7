package process

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"github.com/det-deploy/det-deploy/agent/container"
	"github.com/det-deploy/det-deploy/agent/container/inside"
	"github.com/det-deploy/det-deploy/internal/stream"
	"github.com/det-deploy/det-deploy/internal/wait"
)

// spec returns the process to start in the task's container. It starts in the root directory: runc
// would enter a work directory that the task has replaced by a link before it has given up its rights.
// The limits are those of the container.
func (e entry) spec(p stream.Program) specs.Process {
	s := specs.Process{
		Terminal: p.Terminal != nil, Args: e.argv(p), Env: e.env, Cwd: "/",
		Capabilities: &specs.LinuxCapabilities{}, NoNewPrivileges: true,
	}
	if p.Terminal != nil {
		s.ConsoleSize = &specs.Box{Width: uint(p.Terminal.Columns), Height: uint(p.Terminal.Rows)}
	}
	if _, isolated := e.d.isolatedUser(); isolated {
		s.User = specs.User{UID: uint32(e.uid), GID: uint32(e.gid), AdditionalGids: e.groups, Umask: e.umask}
	}
	return s
}

// memoryDir is for the file that runc writes: whoever enters a task may do so because the disk is full.
const memoryDir = "/dev/shm"

// execContained starts a program with runc, which remains its parent. The files of runc exec are in
// memory, because the variables of a task contain tokens.
func (e entry) execContained(ctx context.Context, p stream.Program) (_ *inside.Child, err error) {
	name, err := e.d.sandbox().name()
	if err != nil || name == "" {
		return nil, cmp.Or(err, container.ErrNotRunning)
	}
	x := &runcExec{entry: e}
	if x.namespace, err = pidNamespace(e.pid); err != nil {
		return nil, errors.Join(e.d.stillRuns(), err)
	}
	if x.spec, err = memoryFile("process"); err != nil {
		return nil, err
	}
	defer func() { _ = x.spec.Close() }()
	if err := json.NewEncoder(x.spec).Encode(e.spec(p)); err != nil {
		return nil, err
	}
	if x.log, err = memoryFile("log"); err != nil {
		return nil, err
	}
	x.visit = e.d.newVisit()
	in, err := os.MkdirTemp(memoryDir, "det-deploy-exec-")
	if err != nil {
		return nil, errors.Join(err, x.log.Close())
	}
	defer func() { _ = os.RemoveAll(in) }()
	x.pidFile = filepath.Join(in, "pid")
	return inside.StartChild(ctx, x.command(name), p.Terminal, inside.Following{
		Leader: x.leader, Belongs: x.belongs, Fault: x.fault, Relay: true,
		// The kernel ends the programs of a PID namespace with its first one.
		Container: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
	})
}

func memoryFile(name string) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("create a file in memory: %w", err)
	}
	return os.NewFile(uintptr(fd), name), nil
}

// runcExec is one call of runc exec.
type runcExec struct {
	entry

	spec, log *os.File
	visit     visit
	pidFile   string
	runc      *exec.Cmd
	// namespace identifies the PID namespace of the task.
	namespace string
}

// command passes the files to runc as descriptors, which it does not pass on.
func (x *runcExec) command(name string) *exec.Cmd {
	const first = 3
	at := func(i int) string { return "/proc/self/fd/" + strconv.Itoa(first+i) }
	x.runc = exec.Command("runc", "--root", x.d.filePath("state"), "--log", at(1), "--log-format", "json", //nolint:noctx // its context is that of the start
		"exec", "--process", at(0), "--pid-file", x.pidFile, name)
	x.runc.ExtraFiles = []*os.File{x.spec, x.log}
	// A signal to the agent's process group must not interrupt it.
	x.runc.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return x.runc
}

// leader waits until runc has started the program, and returns its process ID.
func (x *runcExec) leader(ctx context.Context) (int, error) {
	for {
		_, runs := inside.ReadProcess(x.runc.Process.Pid)
		data, err := os.ReadFile(x.pidFile)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return 0, err
		}
		if pid, err := strconv.Atoi(string(bytes.TrimSpace(data))); err == nil {
			x.visit.note(pid)
			return pid, nil
		}
		if !runs {
			return 0, errors.New("runc has ended")
		}
		if err := wait.For(ctx, killInterval); err != nil {
			return 0, err
		}
	}
}

// belongs reports whether a process is in the PID namespace of the task. An agent that is not root may
// not see that of runc, which is about to become the program, nor harm another user's process.
func (x *runcExec) belongs(pid int) bool {
	theirs, err := pidNamespace(pid)
	return err == nil && theirs == x.namespace || errors.Is(err, fs.ErrPermission)
}

// pidNamespace returns the identity of the PID namespace of a process.
func pidNamespace(pid int) (string, error) {
	return os.Readlink("/proc/" + strconv.Itoa(pid) + "/ns/pid")
}

// fault returns the error that runc has logged, or that of the end of the task.
func (x *runcExec) fault(code int) error {
	defer func() {
		x.visit.end()
		_ = x.log.Close()
	}()
	if ended := x.entry.fault(code); ended != nil {
		return ended
	}
	data, err := io.ReadAll(io.NewSectionReader(x.log, 0, runcLogMost))
	if err != nil {
		return err
	}
	logged := loggedErrors(data)
	if len(logged) == 0 {
		return nil
	}
	err = errors.New("runc: " + logged[len(logged)-1])
	return errors.Join(x.d.stillRuns(), machineError(logged), err)
}
