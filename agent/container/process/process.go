// Package process runs an agent's containers as processes of the machine, for hosts without Docker.
// The available features depend on the machine:
//
//	root, with runc          isolated: a private Unix user, processes, /tmp and paths
//	other users, with runc   placed: the agent's user, with private paths
//	without runc             plain: the agent's user, its files below the agent's directory
//
// Runtime.Isolation and Runtime.FixedPaths return the reasons for missing features.
//
// Each program is started by a shell that holds a lock and writes the exit code to a file (see
// wrapper), so that a task survives its agent and the next agent can read its result. With runc,
// that shell is the first process of the task.
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
	// Dir contains one directory per container.
	Dir string
	// Former contains the containers of the previous release until they are removed. It may be
	// empty; see former.go.
	Former string
	// HostIP is the address at which other machines reach the ports of tasks.
	HostIP string
	// Accounts are the user IDs for isolated tasks; if empty, tasks are not isolated.
	Accounts Accounts
	// Hidden lists directories and sockets that isolated tasks can neither see nor mount, in
	// addition to Dir.
	Hidden []string
	// Lent contains the paths of plain tasks whose users cannot reach Dir. If empty, Start returns
	// an error for these tasks.
	Lent string
	// Limits are the limits of each task with a runc container, in addition to those of its order.
	Limits Limits
}

// Limits limits the resources of one task.
type Limits struct {
	// Processes is the maximum number of processes and threads; 0 means no limit.
	Processes int64
	// Memory is in bytes; 0 means no limit.
	Memory int64
}

// Runtime runs processes. Use New to create one.
type Runtime struct {
	opts Options
	// machine describes the features that the machine supports.
	machine machine
	// hidden are the real paths that no task may see.
	hidden []string
	claims claims
}

var _ container.Runtime = (*Runtime)(nil)

// New creates the directory and returns a runtime that uses it. It runs a test task to detect the
// features of the machine.
func New(ctx context.Context, o Options) (*Runtime, error) {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("resolve %s: %w", o.Dir, err)
	}
	o.Dir = dir
	// Tasks must not inherit descriptors that the agent's parent left open. On a kernel without the
	// call they do.
	_ = unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
	// Mode 0711: tasks may run as other users, which need to traverse the directory but not list
	// it.
	if err := os.MkdirAll(o.Dir, 0o711); err != nil {
		return nil, fmt.Errorf("create the directory of processes: %w", err)
	}
	r := &Runtime{opts: o, claims: claims{Accounts: o.Accounts}}
	for _, p := range append([]string{o.Dir, o.Former}, o.Hidden...) {
		if p == "" {
			continue // an unset file; EvalSymlinks would return the working directory
		}
		// A path that does not exist yet may be created later under this name.
		if real, err := filepath.EvalSymlinks(p); err == nil {
			p = real
		}
		if !slices.Contains(r.hidden, p) {
			r.hidden = append(r.hidden, p)
		}
	}
	r.machine = r.tryMachine(ctx)
	r.endVisits(ctx)
	return r, nil
}

// Isolation returns nil if tasks are isolated from the machine and from each other, or else the
// reason. Without isolation a task may do whatever this agent's user may, including to the agent
// and to other tasks.
func (r *Runtime) Isolation() error { return r.machine.notIsolated }

// FixedPaths returns nil if the files, mounts and work directory of tasks are at the specified
// paths, or else the reason and a remedy. Without fixed paths they are below other directories, and
// only tasks that support that can run.
func (r *Runtime) FixedPaths() error { return r.machine.notPlaced }

// Unlimited returns nil if tasks can have limits of memory and processes, or else the reason.
func (r *Runtime) Unlimited() error { return r.machine.notLimited }

// List returns the containers that have a directory. A directory belongs to one agent of one
// cluster.
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

// Inspect reads the files written by the wrapper.
func (r *Runtime) Inspect(ctx context.Context, id string) (container.Status, error) {
	d := r.containerDir(id)
	phase, err := d.settledPhase(ctx)
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

// Remove kills the remaining processes and deletes the directory.
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

// endProcesses kills the remaining processes of a task.
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
