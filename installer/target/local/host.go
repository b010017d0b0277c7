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

	"github.com/det-deploy/det-deploy/atomicfile"
	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/installer/target/local/supervise"
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

// write puts a file in place at once, readable by its owner only.
func (h host) write(ctx context.Context, path string, data []byte) error {
	if err := h.gate.Pass(ctx, "write "+path); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return refuse("write", path, err)
	}
	return refuse("write", path, atomicfile.Write(path, data, 0o600))
}

func (h host) mkdir(ctx context.Context, path string) error {
	if err := h.gate.Pass(ctx, "make "+path); err != nil {
		return err
	}
	return refuse("make", path, os.MkdirAll(path, 0o700))
}

// remove removes a file or a directory with all that is in it.
func (h host) remove(ctx context.Context, path string) error {
	if err := h.gate.Pass(ctx, "remove "+path); err != nil {
		return err
	}
	return refuse("remove", path, os.RemoveAll(path))
}

// removeEmpty removes a directory that only held what is gone.
func (h host) removeEmpty(path string) {
	_ = os.Remove(path) // not empty, or gone: both are fine
}

func (h host) self() string {
	if exists(h.program) {
		return h.program
	}
	return h.spare
}

// run lets the program answer a question and returns what it printed.
func (h host) run(ctx context.Context, args ...string) ([]byte, error) {
	if err := h.gate.Pass(ctx, "run det-deploy "+args[0]); err != nil {
		return nil, err
	}
	c := exec.CommandContext(ctx, h.self(), args...)
	c.Env = append(supervise.Environ(), h.env...)
	out, err := c.Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		err = errors.New(lastLine(failed.Stderr, err))
	}
	return out, refuse("run", "det-deploy "+args[0]+" "+args[1], err)
}

// detach starts the program in a session of its own, so that it outlives this
// one and its terminal.
func (h host) detach(ctx context.Context, log string, args ...string) error {
	if err := h.gate.Pass(ctx, "start det-deploy "+args[0]); err != nil {
		return err
	}
	f, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return refuse("write", log, err)
	}
	defer func() { _ = f.Close() }()     // the child has its own
	c := exec.Command(h.self(), args...) //nolint:noctx // it outlives every context
	c.Env = append(supervise.Environ(), h.env...)
	c.Stdout, c.Stderr = f, f
	c.Dir = "/"
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := c.Start(); err != nil {
		return refuse("start", h.program, err)
	}
	go func() { _ = c.Wait() }() // takes its exit status if it ends before we do
	return nil
}

// signal tells one process, and no other that has its number.
func (h host) signal(ctx context.Context, id supervise.Identity, sig syscall.Signal) error {
	if err := h.gate.Pass(ctx, "signal "+sig.String()); err != nil {
		return err
	}
	return id.Signal(sig)
}

// put writes a unit down, or takes it back when u has no arguments.
func (h host) put(ctx context.Context, d supervise.Dir, u supervise.Unit) error {
	if err := h.gate.Pass(ctx, "write unit "+u.Name); err != nil {
		return err
	}
	if len(u.Args) == 0 {
		return refuse("remove unit", u.Name, d.Drop(u.Name))
	}
	return refuse("write unit", u.Name, d.Put(u))
}

// end stops a process: it asks, waits, and then insists.
func (h host) end(ctx context.Context, id supervise.Identity) error {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		if err := h.signal(ctx, id, sig); err != nil {
			return err
		}
		if until(ctx, stopLimit, func() bool { return !id.Alive() }) {
			return nil
		}
	}
	return refuse("stop", "process", errors.New("it does not end, even when killed"))
}

// until polls ok until it holds or limit has passed.
func until(ctx context.Context, limit time.Duration, ok func() bool) bool {
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

func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
