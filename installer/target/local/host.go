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
)

// host is every call by which this package changes the machine. Each asks the
// gate first.
type host struct {
	gate *resource.Gate
	// program is det-deploy, which all processes are; spare stands in for it where
	// it is not there.
	program, spare string
	env            []string
}

// writeFile puts a file in place at once, readable by its owner only.
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

// removeAll removes a file or a directory with all that is in it.
func (h host) removeAll(ctx context.Context, path string) error {
	if err := h.gate.Pass(ctx, "remove "+path); err != nil {
		return err
	}
	return wrapRefusal("remove", path, os.RemoveAll(path))
}

// removeEmpty removes a directory that only held what is gone.
func (h host) removeEmpty(path string) {
	_ = os.Remove(path) // not empty, or gone: both are fine
}

func (h host) ownProgram() string {
	if fileExists(h.program) {
		return h.program
	}
	return h.spare
}

// runProgram lets the program answer a question and returns what it printed.
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

// startDetached starts the program in a session of its own, so that it outlives this
// one and its terminal.
func (h host) startDetached(ctx context.Context, log string, args ...string) error {
	if err := h.gate.Pass(ctx, "start det-deploy "+args[0]); err != nil {
		return err
	}
	f, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return wrapRefusal("write", log, err)
	}
	defer func() { _ = f.Close() }()           // the child has its own
	c := exec.Command(h.ownProgram(), args...) //nolint:noctx // it outlives every context
	c.Env = append(supervise.Environ(), h.env...)
	c.Stdout, c.Stderr = f, f
	c.Dir = "/"
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := c.Start(); err != nil {
		return wrapRefusal("start", h.program, err)
	}
	go func() { _ = c.Wait() }() // takes its exit status if it ends before we do
	return nil
}

// signalProcess signals one process, and no other with the same PID.
func (h host) signalProcess(ctx context.Context, id supervise.Identity, sig syscall.Signal) error {
	if err := h.gate.Pass(ctx, "signal "+sig.String()); err != nil {
		return err
	}
	return id.Signal(sig)
}

// putUnit writes a unit down, or takes it back when u has no arguments.
func (h host) putUnit(ctx context.Context, d supervise.Dir, u supervise.Unit) error {
	if err := h.gate.Pass(ctx, "write unit "+u.Name); err != nil {
		return err
	}
	if len(u.Args) == 0 {
		return wrapRefusal("remove unit", u.Name, d.Drop(u.Name))
	}
	return wrapRefusal("write unit", u.Name, d.Put(u))
}

// endProcess stops a process: it asks, waits, and then insists.
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

// waitUntil polls ok until it holds or limit has passed.
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

func fileExists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
