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

	"github.com/det-deploy/det-deploy/internal/wait"
)

// sandbox is the container that runc has for a task, if it has one.
type sandbox struct{ d dir }

func (d dir) sandbox() sandbox { return sandbox{d} }

// runc is the program, with what it keeps of this one container in the directory. On a
// machine that was started again that is of no use, as runc finds out by itself.
func (s sandbox) runc() *runc.Runc {
	return &runc.Runc{
		Root: s.d.filePath("state"), Log: s.d.filePath("runc.log"), LogFormat: runc.JSON,
		// A signal for the agent's own group must not end it half-way.
		Setpgid: true,
	}
}

// run starts the container that config.json describes, and leaves it.
func (s sandbox) run(ctx context.Context, id string, f taskFiles) error {
	_, err := s.runc().Run(ctx, runcID(id), string(s.d), &runc.CreateOpts{
		IO: streams(f), Detach: true, PidFile: s.d.filePath("pid"), NoNewKeyring: true, ExtraFiles: []*os.File{f.status},
	})
	if err == nil {
		return nil
	}
	if text := s.lastError(); text != "" {
		return errors.New("runc: " + text)
	}
	return err
}

// runcID is what runc calls a container; it takes fewer characters than we do.
func runcID(id string) string {
	return strings.Map(func(c rune) rune {
		if c < 0x80 && (c == '_' || c == '-' || c == '.' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z') {
			return c
		}
		return '_'
	}, id)
}

// runcLogMost bounds how much of its log is read, in bytes.
const runcLogMost = 64 << 10

// lastError is what runc has logged last, or empty.
func (s sandbox) lastError() string {
	f, err := s.d.openFile("runc.log", os.O_RDONLY)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, runcLogMost))
	if err != nil {
		return ""
	}
	return lastMessage(data)
}

// name is what runc calls the container, found by what it keeps of it; empty is none.
func (s sandbox) name() (string, error) {
	known, err := filepath.Glob(filepath.Join(s.d.filePath("state"), "*"))
	if err != nil || len(known) == 0 {
		return "", err
	}
	return filepath.Base(known[0]), nil
}

// forgetSpec empties config.json once runc has read it: the task's variables have tokens. That the
// file is there tells tasks with a container from others.
func (s sandbox) forgetSpec() error {
	err := os.Truncate(s.d.filePath("config.json"), 0)
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // it is being removed
		return fmt.Errorf("remove the variables of the task from the disk: %w", err)
	}
	return nil
}

// delete ends what is left of a container and has runc forget it.
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

// firstProcess is the id of the container's first process on the machine; found is false as long
// as runc has not started one.
func (s sandbox) firstProcess(ctx context.Context) (pid int, found bool, err error) {
	if data, err := s.d.readFile("pid"); err == nil {
		if pid, err := strconv.Atoi(string(bytes.TrimSpace(data))); err == nil {
			return pid, true, nil
		}
	}
	// runc, or its agent, was killed before the file was written.
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

// runs reports whether the container has its first process, by more than that one's id.
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

// await waits until the first process of a container has ended, and with it all others. It
// gives the lock back before they are gone.
func (s sandbox) await(ctx context.Context) error {
	for {
		pid, found, err := s.firstProcess(ctx)
		if err != nil {
			return err
		}
		if found {
			// An agent that was killed right after the start has not done it.
			return errors.Join(s.forgetSpec(), s.awaitFirst(ctx, pid))
		}
		if alive, err := s.d.isAlive(); err != nil || !alive {
			return err // it was never started
		}
		if err := wait.For(ctx, pollInterval); err != nil {
			return err
		}
	}
}

func (s sandbox) awaitFirst(ctx context.Context, pid int) error {
	f, err := openProcess(pid)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	if err != nil {
		return s.d.pollEnd(ctx) // a kernel without the call
	}
	defer func() { _ = f.Close() }()
	// Otherwise it may be another process with its id.
	alive, err := s.d.isAlive()
	if err == nil && !alive {
		alive, err = s.runs(ctx)
	}
	if err != nil || !alive {
		return err
	}
	return awaitReadable(ctx, f)
}
