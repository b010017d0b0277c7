package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	runc "github.com/containerd/go-runc"
	"golang.org/x/sys/unix"

	"github.com/det-deploy/det-deploy/agent/container"
	"github.com/det-deploy/det-deploy/agent/container/inside"
	"github.com/det-deploy/det-deploy/internal/wait"
)

// sandbox is the runc container of a task, if it has one.
type sandbox struct{ d dir }

func (d dir) sandbox() sandbox { return sandbox{d} }

// runc returns a client that keeps the container's state in its directory. After a reboot the state
// is stale, which runc detects.
func (s sandbox) runc() *runc.Runc {
	return &runc.Runc{
		Root: s.d.filePath("state"), Log: s.d.filePath("runc.log"), LogFormat: runc.JSON,
		// A signal to the agent's process group must not interrupt it.
		Setpgid: true,
	}
}

// run starts the container of config.json and returns while it is running.
func (s sandbox) run(ctx context.Context, id string, f taskFiles) error {
	_, err := s.runc().Run(ctx, runcID(id), string(s.d), &runc.CreateOpts{
		IO: streams(f), Detach: true, PidFile: s.d.filePath("pid"), NoNewKeyring: true, ExtraFiles: []*os.File{f.status},
	})
	if err == nil {
		return nil
	}
	logged := s.loggedErrors()
	if len(logged) == 0 {
		return fmt.Errorf("runc could not write its log: %w: %w", unix.ENOSPC, err)
	}
	return errors.Join(machineError(logged), errors.New("runc: "+logged[len(logged)-1]))
}

// machineError returns the error of the machine that one of runc's messages reports, or nil. If runc
// cannot write its state, its message lacks the reason.
func machineError(logged []string) error {
	for _, message := range logged {
		if strings.Contains(message, "unable to store init state") {
			return unix.ENOSPC
		}
		if err := container.MachineError(message); err != nil {
			return err
		}
	}
	return nil
}

// runcID returns the runc ID of a container. runc permits fewer characters.
func runcID(id string) string {
	return strings.Map(func(c rune) rune {
		if c < 0x80 && (c == '_' || c == '-' || c == '.' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z') {
			return c
		}
		return '_'
	}, id)
}

// runcLogMost is the maximum number of bytes of runc's log to read.
const runcLogMost = 64 << 10

// loggedErrors returns the errors in runc's log.
func (s sandbox) loggedErrors() []string {
	f, err := s.d.openFile("runc.log", os.O_RDONLY)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, runcLogMost))
	if err != nil {
		return nil
	}
	return loggedErrors(data)
}

// name returns the runc ID of the container, found in runc's state, or "".
func (s sandbox) name() (string, error) {
	known, err := filepath.Glob(filepath.Join(s.d.filePath("state"), "*"))
	if err != nil || len(known) == 0 {
		return "", err
	}
	return filepath.Base(known[0]), nil
}

// forgetSpec truncates config.json after runc has read it, because the task's variables contain
// tokens. The file itself stays: it identifies tasks with a container.
func (s sandbox) forgetSpec() error {
	err := os.Truncate(s.d.filePath("config.json"), 0)
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // the container is being removed
		return fmt.Errorf("erase the variables of the task: %w", err)
	}
	return nil
}

// delete kills the container's remaining processes and deletes it from runc.
func (s sandbox) delete(ctx context.Context) error {
	id, err := s.name()
	if err != nil || id == "" {
		return err
	}
	if err := s.runc().Delete(ctx, id, &runc.DeleteOpts{Force: true}); err != nil {
		return fmt.Errorf("runc delete: %w", err)
	}
	return nil
}

// firstProcess returns the host ID of the container's first process. found is false until runc has
// started one.
func (s sandbox) firstProcess(ctx context.Context) (pid int, found bool, err error) {
	if data, err := s.d.readFile("pid"); err == nil {
		if pid, err := strconv.Atoi(string(bytes.TrimSpace(data))); err == nil {
			return pid, true, nil
		}
	}
	// runc or the agent was killed before the file was written.
	id, err := s.name()
	if err != nil || id == "" {
		return 0, false, err
	}
	c, err := s.runc().State(ctx, id)
	if err != nil || c.Pid == 0 {
		return 0, false, nil //nolint:nilerr // it is being made, or being deleted
	}
	return c.Pid, true, nil
}

// runs reports whether the container's first process is running, according to runc, which checks
// more than the process ID.
func (s sandbox) runs(ctx context.Context) (bool, error) {
	id, err := s.name()
	if err != nil || id == "" {
		return false, err
	}
	c, err := s.runc().State(ctx, id)
	if err != nil {
		return false, fmt.Errorf("runc state: %w", err)
	}
	return c.Status != "stopped", nil
}

// await waits until the first process of a container has exited, and thereby all others. The lock
// is released before they have exited.
func (s sandbox) await(ctx context.Context) error {
	for {
		pid, found, err := s.firstProcess(ctx)
		if err != nil {
			return err
		}
		if found {
			// An agent that was killed right after the start may not have done it.
			return errors.Join(s.forgetSpec(), s.awaitFirst(ctx, pid))
		}
		if alive, err := s.d.isAlive(); err != nil || !alive {
			return err // the container was never started
		}
		if err := wait.For(ctx, pollInterval); err != nil {
			return err
		}
	}
}

func (s sandbox) awaitFirst(ctx context.Context, pid int) error {
	f, err := inside.OpenProcess(pid)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	if err != nil {
		return s.d.pollEnd(ctx) // a kernel without pidfd_open
	}
	defer func() { _ = f.Close() }()
	// Make sure that the ID was not reused by another process.
	alive, err := s.d.isAlive()
	if err == nil && !alive {
		alive, err = s.runs(ctx)
	}
	if err != nil || !alive {
		return err
	}
	return inside.AwaitExit(ctx, f)
}
