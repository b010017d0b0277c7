package local

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/installer/target/local/supervise"
	"github.com/det-deploy/det-deploy/internal/atomicfile"
	"github.com/det-deploy/det-deploy/internal/wait"
)

// host makes all changes of this package to the machine. Each asks the gate first.
type host struct {
	gate *resource.Gate
	// program is the det-deploy program of all processes. If the file does not exist, spare is
	// used.
	program, spare string
	env            []string
}

// writeFile replaces a file atomically. Only the owner can read it.
func (h host) writeFile(ctx context.Context, path string, data []byte) error {
	if err := h.gate.Pass(ctx, "write "+path); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return wrapRefusal("write", path, err)
	}
	return wrapRefusal("write", path, atomicfile.Write(path, data, 0o600))
}

func (h host) makeDirectory(ctx context.Context, path string) error {
	if err := h.gate.Pass(ctx, "make "+path); err != nil {
		return err
	}
	return wrapRefusal("make", path, os.MkdirAll(path, 0o700))
}

// removeAll removes a file, or a directory with its content.
func (h host) removeAll(ctx context.Context, path string) error {
	if err := h.gate.Pass(ctx, "remove "+path); err != nil {
		return err
	}
	return wrapRefusal("remove", path, os.RemoveAll(path))
}

// removeEmpty removes a directory if it is empty.
func (h host) removeEmpty(path string) {
	_ = os.Remove(path) // fails if it is not empty or does not exist, as intended
}

func (h host) ownProgram() string {
	if fileExists(h.program) {
		return h.program
	}
	return h.spare
}

// runProgram runs a det-deploy command and returns its output.
func (h host) runProgram(ctx context.Context, args ...string) ([]byte, error) {
	if err := h.gate.Pass(ctx, "run det-deploy "+args[0]); err != nil {
		return nil, err
	}
	c := exec.CommandContext(ctx, h.ownProgram(), args...)
	c.Env = append(supervise.Environ(), h.env...)
	out, err := c.Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		err = errors.New(lastLine(failed.Stderr, err))
	}
	return out, wrapRefusal("run", "det-deploy "+args[0]+" "+args[1], err)
}

// startDetached starts the program in a new session, so that it outlives this process and its
// terminal.
func (h host) startDetached(ctx context.Context, log string, args ...string) error {
	if err := h.gate.Pass(ctx, "start det-deploy "+args[0]); err != nil {
		return err
	}
	f, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return wrapRefusal("write", log, err)
	}
	defer func() { _ = f.Close() }()           // the child has its own descriptor
	c := exec.Command(h.ownProgram(), args...) //nolint:noctx // it outlives every context
	c.Env = append(supervise.Environ(), h.env...)
	c.Stdout, c.Stderr = f, f
	c.Dir = "/"
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := c.Start(); err != nil {
		return wrapRefusal("start", h.program, err)
	}
	go func() { _ = c.Wait() }() // collects its exit status if it ends first
	return nil
}

// signalProcess signals one process, and never another with the same PID.
func (h host) signalProcess(ctx context.Context, id supervise.Identity, sig syscall.Signal) error {
	if err := h.gate.Pass(ctx, "signal "+sig.String()); err != nil {
		return err
	}
	return id.Signal(sig)
}

// putUnit writes a unit, or deletes it if u has no arguments.
func (h host) putUnit(ctx context.Context, d supervise.Dir, u supervise.Unit) error {
	if err := h.gate.Pass(ctx, "write unit "+u.Name); err != nil {
		return err
	}
	if len(u.Args) == 0 {
		return wrapRefusal("remove unit", u.Name, d.Drop(u.Name))
	}
	return wrapRefusal("write unit", u.Name, d.Put(u))
}

// endProcess stops a process with SIGTERM and, after a timeout, SIGKILL.
func (h host) endProcess(ctx context.Context, id supervise.Identity) error {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		if err := h.signalProcess(ctx, id, sig); err != nil {
			return err
		}
		if waitUntil(ctx, stopLimit, func() bool { return !id.Alive() }) {
			return nil
		}
	}
	return wrapRefusal("stop", "process", errors.New("it does not end, even when killed"))
}

// waitUntil polls ok until it returns true or limit has passed.
func waitUntil(ctx context.Context, limit time.Duration, ok func() bool) bool {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		if ok() {
			return true
		}
		select {
		case <-ctx.Done():
			return ok()
		case <-tick.C:
		}
	}
}

// waitWanted is like waitUntil, but gives up when the user interrupts the step of ctx.
func waitWanted(ctx context.Context, limit time.Duration, ok func() bool) bool {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for !ok() {
		if wait.ForWanted(ctx, 10*time.Millisecond) != nil {
			return ok()
		}
	}
	return true
}

func fileExists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
