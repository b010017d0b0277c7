// Package process runs an agent's containers as plain processes of the
// machine, each in a session and a directory of its own. It is for single
// machines, tests, and hosts without Docker.
//
// Where the agent is root and the kernel lets it, tasks are isolated: each runs as
// a Unix user that no other task has, sees its own processes only, a /tmp of its
// own, and nothing of the agent's. Elsewhere they see the machine and each other,
// as the agent's own user; see Runtime.Isolation.
//
// Its parent writes the process id of each task and its exit code to a file, and holds a lock
// on it as long as the task lives. An agent that was killed reads from it what became of the
// task. The parent is a shim, or the first process of the task where that is isolated. Tasks of
// earlier versions have a shell around them that does the same.
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
	"github.com/det-deploy/det-deploy/agent/container/process/shim"
	"github.com/det-deploy/det-deploy/agent/container/process/watch"
)

// Options says where and how tasks run.
type Options struct {
	// Dir holds one directory a container. It becomes a link to one below Memory.
	Dir string
	// Memory is a directory in memory, of all agents of the machine; without one, or where
	// the kernel lets tasks have no mount namespaces, all is on the file system of Dir.
	Memory string
	// Files has on disk what of containers may be large, where Dir is in memory. It is its
	// agent's alone, which removes what is of no container.
	Files string
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
	// Shim says how tasks are started that are not isolated; without it they are not.
	Shim Shim
}

// Shim says how an agent has the process that starts its tasks.
type Shim = shim.Options

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
	// left is why something of others was not removed, or nil.
	left error

	// onDisk is what containers have on disk, where Dir is in memory; otherwise nil.
	onDisk *onDisk

	// shims start tasks that are not isolated, and firsts those that are.
	shims  *shim.Shims
	firsts *firsts

	// claims are the users of isolated tasks.
	claims claims

	// written wakes who follows the output of a container.
	written watch.Watcher

	// mu guards what follows.
	mu sync.Mutex
	// children are the process ids of isolated tasks that this agent started itself and has to
	// reap; those of an earlier one belong to init.
	children map[string]int
	// held is what is known of containers that this agent has started.
	held map[string]*held
}

var _ container.Runtime = (*Runtime)(nil)

// New makes the directory and the runtime on it.
func New(o Options) (*Runtime, error) {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("find %s: %w", o.Dir, err)
	}
	o.Dir = dir
	// What the agent's own parent left open must not live on in tasks, which
	// outlive both. A kernel without the call leaves it open.
	_ = unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
	r := &Runtime{opts: o, claims: claims{Accounts: o.Accounts}, children: map[string]int{}, held: map[string]*held{}}
	r.firsts, r.notIsolated = isolate(o.Accounts)
	if r.notIsolated != nil {
		r.notPlaced = canPlace()
	}
	if err := r.openDirs(); err != nil {
		r.firsts.close()
		return nil, fmt.Errorf("make the directory of processes: %w", err)
	}
	if r.shims, err = shim.Open(o.Shim); err != nil {
		r.firsts.close()
		return nil, fmt.Errorf("look for what starts tasks: %w", err)
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

// openDirs makes the directory of containers, and removes what others left. One without
// Files looks after the containers of an agent.
func (r *Runtime) openDirs() error {
	o := r.opts
	if o.Files == "" {
		return os.MkdirAll(o.Dir, 0o711)
	}
	inMemory, err := r.openMemory()
	if err != nil {
		return err
	}
	if inMemory && r.notPlaced == nil { // otherwise tasks find files in one directory only
		r.onDisk = newOnDisk(o.Files)
	}
	r.left = errors.Join(r.left, sweepFiles(o))
	return nil
}

// openMemory makes or opens the directory of containers, and says whether it is in memory. It
// removes what is there of agents that are gone.
func (r *Runtime) openMemory() (inMemory bool, err error) {
	o := r.opts
	if o.Memory == "" {
		return useMemory(o, false)
	}
	unlock, err := lockMemory(o.Memory)
	if err != nil {
		r.left = err
		return useMemory(o, false)
	}
	defer unlock()
	inMemory, err = useMemory(o, r.notPlaced == nil)
	r.left = sweepMemory(o.Memory)
	return inMemory, err
}

// Left is nil when all is removed that earlier agents and agents that are gone left, or why not.
// It only takes room.
func (r *Runtime) Left() error { return r.left }

// Isolation is nil when tasks are isolated from the machine and from each other,
// and otherwise the reason why they are not: then each may do whatever this
// agent's user may, also to the agent and to other tasks.
func (r *Runtime) Isolation() error { return r.notIsolated }

// FixedPaths is nil when the files, mounts and work directory of tasks are where they say,
// and otherwise the reason why they are not, with what to change: then they are below
// other directories, and only tasks that can do with it run.
func (r *Runtime) FixedPaths() error { return r.notPlaced }

// Close leaves tasks to themselves.
func (r *Runtime) Close() {
	r.shims.Close()
	r.onDisk.close()
	r.claims.close()
	r.firsts.close()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, h := range r.held {
		h.reads.close()
	}
	clear(r.held)
}

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

// Inspect reads what the task's parent left.
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
	if err := r.endProcesses(ctx, id); err != nil {
		return fmt.Errorf("remove process %s: %w", id, err)
	}
	h := r.forget(id)
	if h == nil {
		h = d.look()
	}
	defer func() { h.reads.close() }()
	own := h.isolated && r.opts.Accounts.containsUID(h.uid)
	if own {
		if err := awaitNobody(ctx, h.uid); err != nil {
			return fmt.Errorf("remove process %s: %w", id, err)
		}
	}
	var err error
	if h.lent != "" {
		err = giveBack(h.lent)
	}
	err = errors.Join(err, r.onDisk.removeFiles(d, h.files), r.onDisk.removeOutput(d, h))
	if err == nil { // otherwise it says what is left to remove
		err = d.removeKnown(h)
	}
	if err != nil {
		return fmt.Errorf("remove process %s: %w", id, err)
	}
	if own {
		if err := r.claims.releaseUID(h.uid, d); err != nil {
			return fmt.Errorf("give back user %d of process %s: %w", h.uid, id, err)
		}
	}
	return nil
}

// endProcesses kills what is left of a task, if anything is.
func (r *Runtime) endProcesses(ctx context.Context, id string) error {
	if _, known := r.endOf(r.heldOf(id)); known {
		return nil
	}
	d := r.containerDir(id)
	s, alive, err := d.inspectStatus()
	if err == nil && d.phaseOf(s, alive) == container.Running {
		if err := r.Signal(ctx, id, container.Kill); err != nil {
			return err
		}
		s, err = d.readStatus()
	}
	if err == nil {
		r.sweepProcesses(id, s)
	}
	return err
}

func (r *Runtime) containerDir(id string) dir { return dir(filepath.Join(r.opts.Dir, id)) }
