// Package process runs an agent's containers as plain processes of the
// machine, each in a session and a directory of its own. It is for single
// machines, tests, and hosts without Docker.
//
// Where the agent is root and the kernel lets it, tasks are isolated: each runs as
// a Unix user that no other task has, sees its own processes only, a /tmp of its
// own, and nothing of the agent's. Elsewhere they see the machine and each other,
// as the agent's own user; see Runtime.Isolation.
//
// A small shell around each task writes its process id, its exit code and its
// output to files, and holds a lock as long as it lives. An agent that was
// killed reads from these what became of the task.
package process

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/det-deploy/det-deploy/agent/container"
	"github.com/det-deploy/det-deploy/agent/container/process/watch"
)

// Options says where and how tasks run.
type Options struct {
	// Dir holds one directory a container.
	Dir string
	// Spare holds empty directories for the next tasks, on the file system of Dir; empty
	// keeps none. It is its agent's alone, which removes what an earlier one left there.
	Spare string
	// HostIP is where other machines reach the ports of tasks.
	HostIP string
	// Accounts are for isolated tasks; without any, none is isolated.
	Accounts Accounts
	// Hidden are directories and sockets that no isolated task sees or mounts;
	// Dir is always one.
	Hidden []string
	// Lent has the paths of tasks that are not isolated and whose users cannot reach
	// Dir; without it these tasks are refused.
	Lent string
}

// Runtime runs processes. Make one with New.
type Runtime struct {
	opts Options
	// notIsolated is why tasks are not isolated, or nil.
	notIsolated error
	// notPlaced is why the files of tasks are not at the paths that they should have, or
	// nil.
	notPlaced error
	// hidden are the real paths of what no task may see.
	hidden []string

	// spares are directories for the next tasks.
	spares *spares

	// written wakes who follows the output of a container.
	written watch.Watcher

	// mu guards children.
	mu sync.Mutex
	// children are the process ids that this agent started itself and has to
	// reap; those of an earlier one belong to init.
	children map[string]int
}

var _ container.Runtime = (*Runtime)(nil)

// New makes the directory and the runtime on it.
func New(o Options) (*Runtime, error) {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("find %s: %w", o.Dir, err)
	}
	o.Dir = dir
	// Others may pass, not look: a task may run as another user.
	if err := os.MkdirAll(o.Dir, 0o711); err != nil {
		return nil, fmt.Errorf("make the directory of processes: %w", err)
	}
	// What the agent's own parent left open must not live on in tasks, which
	// outlive both. A kernel without the call leaves it open.
	_ = unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
	left, err := openSpares(o.Spare)
	if err != nil {
		return nil, fmt.Errorf("remove the spare directories of processes: %w", err)
	}
	r := &Runtime{opts: o, spares: left, children: map[string]int{}, notIsolated: canIsolate(o.Accounts)}
	if r.notIsolated != nil {
		r.notPlaced = canPlace()
	}
	for _, p := range append([]string{o.Dir}, o.Hidden...) {
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
	return r, nil
}

// Isolation is nil when tasks are isolated from the machine and from each other,
// and otherwise the reason why they are not: then each may do whatever this
// agent's user may, also to the agent and to other tasks.
func (r *Runtime) Isolation() error { return r.notIsolated }

// FixedPaths is nil when the files, mounts and work directory of tasks are where they say,
// and otherwise the reason why they are not, with what to change: then they are below
// other directories, and only tasks that can do with it run.
func (r *Runtime) FixedPaths() error { return r.notPlaced }

// List names the containers that have a directory; a directory belongs to
// one agent of one cluster.
func (r *Runtime) List(context.Context, string) ([]string, error) {
	entries, err := os.ReadDir(r.opts.Dir)
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	ids := make([]string, len(entries))
	for i, e := range entries {
		ids[i] = e.Name()
	}
	return ids, nil
}

// Inspect reads what the task's shell left.
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
	d := r.containerDir(id)
	phase, err := d.readPhase()
	if err != nil {
		return fmt.Errorf("remove process %s: %w", id, err)
	}
	if phase == container.Running {
		if err := r.Signal(ctx, id, container.Kill); err != nil {
			return err
		}
	}
	r.sweepProcesses(id)
	uid, isolated := d.isolatedUser()
	own := isolated && r.opts.Accounts.containsUID(uid)
	if own {
		if err := awaitNobody(ctx, uid); err != nil {
			return fmt.Errorf("remove process %s: %w", id, err)
		}
	}
	if r.spares.put(d) {
		return nil
	}
	if at, found := d.lentFiles(); found {
		err = giveBack(at)
	}
	if err := errors.Join(err, os.RemoveAll(string(d))); err != nil {
		return fmt.Errorf("remove process %s: %w", id, err)
	}
	if own {
		if err := r.opts.Accounts.releaseUID(uid, d); err != nil {
			return fmt.Errorf("give back user %d of process %s: %w", uid, id, err)
		}
	}
	return nil
}

func (r *Runtime) containerDir(id string) dir { return dir(filepath.Join(r.opts.Dir, id)) }
