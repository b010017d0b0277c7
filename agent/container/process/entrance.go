package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"syscall"

	"github.com/det-deploy/det-deploy/agent/container"
	"github.com/det-deploy/det-deploy/agent/container/inside"
	"github.com/det-deploy/det-deploy/internal/stream"
	"github.com/det-deploy/det-deploy/internal/wait"
)

var _ container.Entrance = (*Runtime)(nil)

// Dial connects to a port of the machine, whose network all tasks share.
func (r *Runtime) Dial(ctx context.Context, id string, port int) (net.Conn, error) {
	if _, err := r.enter(ctx, id); err != nil {
		return nil, err
	}
	return inside.DialLoopback(ctx, port)
}

// Exec starts a program as a child of the agent, or of runc in the task's container.
func (r *Runtime) Exec(ctx context.Context, id string, p stream.Program) (stream.Process, error) {
	if len(p.Argv) == 0 {
		return nil, errors.New("a program is required")
	}
	e, err := r.enter(ctx, id)
	if err != nil {
		return nil, err
	}
	var c *inside.Child
	if e.d.hasBundle() {
		c, err = e.execContained(ctx, p)
	} else {
		c, err = e.execPlain(ctx, p)
	}
	if err != nil {
		return nil, fmt.Errorf("start the program: %w", err)
	}
	return c, nil
}

// ReadFiles packs a path with tar, as the task's user.
func (r *Runtime) ReadFiles(ctx context.Context, id, path string) (io.ReadCloser, error) {
	return inside.ReadFiles(ctx, r.execFor(id), r.containerDir(id).outside(path))
}

// WriteFiles unpacks an archive with tar, as the task's user.
func (r *Runtime) WriteFiles(ctx context.Context, id, dir string, archive io.Reader) error {
	return inside.WriteFiles(ctx, r.execFor(id), r.containerDir(id).outside(dir), archive)
}

func (r *Runtime) execFor(id string) inside.Exec {
	return func(ctx context.Context, argv ...string) (stream.Process, error) {
		return r.Exec(ctx, id, stream.Program{Argv: argv})
	}
}

// enter returns how to start programs in a running task.
func (r *Runtime) enter(ctx context.Context, id string) (entry, error) {
	d := r.containerDir(id)
	phase, err := d.readPhase()
	if err != nil {
		return entry{}, fmt.Errorf("inspect process %s: %w", id, err)
	}
	pid := 0
	if phase == container.Running {
		pid, err = d.awaitWrapper(ctx)
	}
	if err != nil {
		return entry{}, fmt.Errorf("find process %s: %w", id, err)
	}
	if pid == 0 {
		return entry{}, container.ErrNotRunning
	}
	e, err := d.readEntry(pid)
	if err != nil {
		return e, errors.Join(d.stillRuns(), fmt.Errorf("read the variables of process %s: %w", id, err))
	}
	return e, nil
}

// awaitWrapper is awaitPID, but waits until the first process has written its ID. Before, it may be runc,
// with the variables of runc.
func (d dir) awaitWrapper(ctx context.Context) (int, error) {
	for {
		s, alive, err := d.inspectStatus()
		if err != nil || !alive {
			return 0, err
		}
		if s.started {
			return d.awaitPID(ctx)
		}
		if err := wait.For(ctx, killInterval); err != nil {
			return 0, err
		}
	}
}

// stillRuns returns ErrNotRunning if the task has ended, or is being killed.
func (d dir) stillRuns() error {
	if d.isKilled() {
		return container.ErrNotRunning
	}
	if alive, err := d.isAlive(); err != nil || alive {
		return err
	}
	return container.ErrNotRunning
}

// enterScript changes to a directory as the program's user, and runs the program. A directory that the
// task has removed is no reason not to enter.
const enterScript = `cd -- "$0" || cd /; exec "$@"`

func (e entry) argv(p stream.Program) []string {
	return append([]string{"/bin/sh", "-c", enterScript, e.workDir}, p.Argv...)
}

// execPlain starts a child of the agent, as the task's user.
func (e entry) execPlain(ctx context.Context, p stream.Program) (*inside.Child, error) {
	p.Argv = mapping{root: e.d.filesRoot(), prefixes: []string{runDir}}.mapArgs(p.Argv)
	argv := e.argv(p)
	cmd := exec.Command(argv[0], argv[1:]...) //nolint:noctx // its context is that of the start
	cmd.Env, cmd.Dir = e.env, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: credentialOf(&container.User{UID: e.uid, GID: e.gid}), Setsid: true}
	v := e.d.newVisit()
	return inside.StartChild(ctx, cmd, p.Terminal, inside.Following{
		Leader: func(context.Context) (int, error) {
			v.note(cmd.Process.Pid)
			return cmd.Process.Pid, nil
		},
		Belongs:   func(int) bool { return true },
		Container: func(ctx context.Context) error { return e.d.awaitProcess(ctx, e.pid) },
		Fault: func(code int) error {
			v.end()
			return e.fault(code)
		},
	})
}

// fault returns an error if a killed program may have been killed by the end of its task.
func (e entry) fault(code int) error {
	if code != 128+int(syscall.SIGKILL) {
		return nil
	}
	if err := e.d.stillRuns(); err != nil {
		return fmt.Errorf("the task has ended, and the program with it: %w", err)
	}
	return nil
}
