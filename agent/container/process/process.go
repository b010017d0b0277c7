// Package process runs an agent's containers as processes of the machine, for hosts
// without Docker. What it can do depends on the machine:
//
//	root, with runc          isolated: a Unix user, processes, /tmp and paths of its own
//	other users, with runc   placed: the agent's user, with paths of its own
//	without runc             plain: the agent's user, its files below the agent's directory
//
// Runtime.Isolation and Runtime.FixedPaths report which of these holds, and why.
//
// Around each program is a shell that holds a lock, and writes the exit code to a file
// (see wrapper), so that a task outlives its agent and an agent that was killed reads
// what became of it. With runc, that shell is the first process of the task.
package process

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/det-deploy/det-deploy/agent/container"
)

// Options configures a Runtime.
type Options struct {
	// Dir holds one directory for each container.
	Dir string
	// Former holds the containers of the release before, until they are removed; it may
	// be empty. See former.go.
	Former string
	// HostIP is where other machines reach the ports of tasks.
	HostIP string
	// Accounts are for isolated tasks; without any, none is isolated.
	Accounts Accounts
	// Hidden are directories and sockets that no isolated task sees or mounts;
	// Dir is always one.
	Hidden []string
	// Lent has the paths of plain tasks whose users cannot reach Dir; without it these
	// tasks are refused.
	Lent string
	// Limits bound each task that has a container of runc's.
	Limits Limits
}

// Limits bound one task.
type Limits struct {
	// Processes is the number of processes and threads; 0 is no limit.
	Processes int64
	// Memory is in bytes; 0 is no limit.
	Memory int64
}

// Runtime runs processes. Make one with New.
type Runtime struct {
	opts Options
	// machine is what the machine lets tasks have.
	machine machine
	// hidden are the real paths of what no task may see.
	hidden []string
	claims claims
}

var _ container.Runtime = (*Runtime)(nil)

// New makes the directory and the runtime on it. It starts a task to find out what the machine allows.
func New(ctx context.Context, o Options) (*Runtime, error) {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("find %s: %w", o.Dir, err)
	}
	o.Dir = dir
	// What the agent's own parent left open must not live on in tasks, which
	// outlive both. A kernel without the call leaves it open.
	_ = unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
	// Others may pass, not look: a task may run as another user.
	if err := os.MkdirAll(o.Dir, 0o711); err != nil {
		return nil, fmt.Errorf("make the directory of processes: %w", err)
	}
	r := &Runtime{opts: o, claims: claims{Accounts: o.Accounts}}
	for _, p := range append([]string{o.Dir, o.Former}, o.Hidden...) {
		if p == "" {
			continue // a file that this agent does not have; it would be the working directory
		}
		// What is not there now may come later, under this name.
		if real, err := filepath.EvalSymlinks(p); err == nil {
			p = real
		}
		if !slices.Contains(r.hidden, p) {
			r.hidden = append(r.hidden, p)
		}
	}
	r.machine = r.tryMachine(ctx)
	return r, nil
}

// Isolation is nil when tasks are isolated from the machine and from each other,
// and otherwise the reason why they are not: then each may do whatever this
// agent's user may, also to the agent and to other tasks.
func (r *Runtime) Isolation() error { return r.machine.notIsolated }

// FixedPaths is nil when the files, mounts and work directory of tasks are where they say,
// and otherwise the reason why they are not, with what to change: then they are below
// other directories, and only tasks that can do with it run.
func (r *Runtime) FixedPaths() error { return r.machine.notPlaced }

// Unlimited is nil when Limits hold for each task, and otherwise the reason why not.
func (r *Runtime) Unlimited() error { return r.machine.notLimited }

// List names the containers that have a directory; a directory belongs to
// one agent of one cluster.
func (r *Runtime) List(context.Context, string) ([]string, error) {
	var ids []string
	for _, at := range []string{r.opts.Dir, r.opts.Former} {
		entries, err := os.ReadDir(at)
		if err != nil && (at == r.opts.Dir || !errors.Is(err, fs.ErrNotExist)) && at != "" {
			return nil, fmt.Errorf("list processes: %w", err)
		}
		for _, e := range entries {
			ids = append(ids, e.Name())
		}
	}
	return ids, nil
}

// Inspect reads what the wrapper left.
func (r *Runtime) Inspect(_ context.Context, id string) (container.Status, error) {
	d := r.containerDir(id)
	phase, err := d.readPhase()
	if err != nil {
		return container.Status{}, fmt.Errorf("inspect process %s: %w", id, err)
	}
	s := container.Status{Phase: phase}
	if phase != container.Running {
		return s, nil
	}
	ports, err := d.readPorts()
	if err != nil {
		return s, fmt.Errorf("inspect process %s: %w", id, err)
	}
	for _, p := range ports {
		s.Addresses = append(s.Addresses, container.Address{
			ContainerIP: r.opts.HostIP, ContainerPort: p, HostIP: r.opts.HostIP, HostPort: p,
		})
	}
	return s, nil
}

// Remove kills what is left and removes the directory.
func (r *Runtime) Remove(ctx context.Context, id string) error {
	if err := r.remove(ctx, r.containerDir(id), id); err != nil {
		return fmt.Errorf("remove process %s: %w", id, err)
	}
	return nil
}

func (r *Runtime) remove(ctx context.Context, d dir, id string) error {
	if err := r.endProcesses(ctx, d, id); err != nil {
		return err
	}
	uid, own := d.isolatedUser()
	if own = own && r.opts.Accounts.containsUID(uid); own {
		if err := awaitNobody(ctx, uid); err != nil {
			return err
		}
	}
	if err := errors.Join(d.giveBackLent(), d.removeFormer(), os.RemoveAll(string(d))); err != nil {
		return err
	}
	if own {
		return r.claims.releaseUID(uid)
	}
	return nil
}

// endProcesses ends what is left of a task, if anything is.
func (r *Runtime) endProcesses(ctx context.Context, d dir, id string) error {
	s, alive, err := d.inspectStatus()
	if err != nil {
		return err
	}
	if alive && !s.ended {
		if err := r.Signal(ctx, id, container.Kill); err != nil {
			return err
		}
		if s, err = d.readStatus(); err != nil {
			return err
		}
	}
	if d.hasBundle() {
		return d.sandbox().delete(ctx)
	}
	d.sweepProcesses(s)
	return nil
}

func (r *Runtime) containerDir(id string) dir {
	if r.opts.Former != "" {
		former := filepath.Join(r.opts.Former, id)
		if _, err := os.Lstat(former); err == nil {
			return dir(former)
		}
	}
	return dir(filepath.Join(r.opts.Dir, id))
}
