package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/det-deploy/det-deploy/agent/container"
	"github.com/det-deploy/det-deploy/agent/container/process/rootfs"
	"github.com/det-deploy/det-deploy/agent/container/process/shim"
	"github.com/det-deploy/det-deploy/internal/wait"
)

// startPlain starts a task as the agent's own user, or as the one that was asked for.
func (r *Runtime) startPlain(ctx context.Context, d dir, spec container.Spec) error {
	h := &held{}
	order, l, err := r.prepareOrder(d, h, spec)
	if err != nil {
		h.reads.close()
		return &container.NeverRanError{Err: err}
	}
	r.hold(spec.ID, h)
	at, err := r.startInShim(ctx, d, order, d.outputAt(h.output))
	if err != nil {
		return err
	}
	if l.disk != "" && order.Credential == nil && at.Space != 0 {
		r.onDisk.begin(l.disk, at.Space, at.At)
	}
	return nil
}

// prepareOrder lays out the directory of a container, and says how to start its task.
func (r *Runtime) prepareOrder(d dir, h *held, spec container.Spec) (o shim.Order, l layout, err error) {
	placed := r.notPlaced == nil
	if l, err = r.prepareDir(d, h, spec, placed); err != nil {
		return o, l, fmt.Errorf("prepare the directory of the container: %w", err)
	}
	env := inheritedEnviron()
	if credentialOf(spec.User) != nil {
		home := l.root
		if l.disk != "" { // which the user passes in its place alone
			home = runDir
			if err := os.Lchown(l.disk, spec.User.UID, spec.User.GID); err != nil {
				return o, l, fmt.Errorf("prepare the directory of the container: %w", err)
			}
		}
		env = account{User: *spec.User}.taskEnv(home)
	}
	o = shim.Order{Task: string(d), Credential: credentialOf(spec.User)}
	if !placed {
		spec = newMapping(l.root, spec).mapSpec(spec)
	} else if err := d.placeOrder(&o, l, spec); err != nil {
		return o, l, err
	}
	// Of a repeated variable the last counts.
	cmd := exec.Cmd{Env: append(append(env, spec.Env...), markKey+"="+string(d))}
	o.Argv, o.Env, o.Dir = spec.Command, cmd.Environ(), workDir(spec)
	return o, l, nil
}

// prepareDir makes the directory of a container, and all that its task finds.
func (r *Runtime) prepareDir(d dir, h *held, spec container.Spec, placed bool) (l layout, err error) {
	if err := d.makeAnew(spec.User); err != nil {
		return l, err
	}
	if h.given, err = r.onDisk.give(d, credentialOf(spec.User) == nil); err != nil {
		return l, err
	}
	if h.lent, err = d.lendFiles(r.opts.Lent, spec.User); err != nil {
		return l, err
	}
	l = d.layoutOf(h, spec)
	if !l.isLaidOut(spec) {
		return l, d.layOut(l, spec, placed)
	}
	h.info, h.names = true, append(infoNames(spec), "status")
	if len(spec.Ports) > 0 {
		h.names = append(h.names, "ports")
	}
	return l, errors.Join(l.putInfo(spec), d.writePorts(spec.Ports))
}

// placeOrder has a task see its files where they belong. An agent that is not
// root needs a user namespace for this.
func (d dir) placeOrder(o *shim.Order, l layout, spec container.Spec) (err error) {
	tree := rootfs.Tree{Places: placesOf(l, spec), Stage: d.filePath("stage"), UID: os.Geteuid(), GID: os.Getegid()}
	if u := spec.User; u != nil {
		tree.UID, tree.GID = u.UID, u.GID
	}
	for i, m := range spec.Mounts {
		if tree.Places[i], err = placeOf(m); err != nil {
			return err
		}
	}
	o.Tree, o.Placing = tree, shim.InMounts
	if os.Geteuid() != 0 {
		o.Placing = shim.InUser
	}
	return nil
}

// startInShim orders a task, and orders it again from another shim when the first has ended
// before the task began.
func (r *Runtime) startInShim(ctx context.Context, d dir, o shim.Order, output [len(outputs)]string) (shim.Started, error) {
	for attempt := 1; ; attempt++ {
		f, err := d.openFiles(output)
		if err != nil {
			return shim.Started{}, &container.NeverRanError{Err: err}
		}
		at, err := r.shims.Start(ctx, o, f)
		closeFiles(f)
		if err == nil {
			return at, nil
		}
		if !errors.Is(err, shim.ErrLost) {
			return at, &container.NeverRanError{Err: err}
		}
		began, serr := d.hasBegun(ctx)
		switch {
		case serr != nil:
			return at, errors.Join(err, serr)
		case began: // and vanished since, as is found when it is waited for
			return at, nil
		case attempt == shimAttempts:
			return at, &container.NeverRanError{Err: err}
		}
		if err := wait.For(ctx, time.Duration(attempt)*killInterval); err != nil {
			return shim.Started{}, &container.NeverRanError{Err: err}
		}
	}
}

// shimAttempts is how often a task is ordered whose shims end before it begins: where memory is short, one
// after the other may be killed.
const shimAttempts = 10

// hasBegun says whether a task has begun whose shim says no more. A process that has just been made
// has the lock until its program runs, and so has a shim that has closed the connection alone.
func (d dir) hasBegun(ctx context.Context) (bool, error) {
	for {
		alive, err := d.isAlive() // first: what it does not have any more it does not write any more
		if err != nil {
			return false, err
		}
		if s, err := d.readStatus(); err != nil || s.started || !alive {
			return s.started, err
		}
		if err := wait.For(ctx, killInterval); err != nil {
			return false, err
		}
	}
}

// canPlace says why tasks that are not isolated cannot have their files where they belong.
func canPlace() error {
	if os.Geteuid() != 0 {
		return rootfs.Check(runDir)
	}
	// Where it is, tasks need no stand-in of /run, which takes longer to make.
	_ = os.MkdirAll(runDir, 0o755)
	stage, err := os.MkdirTemp("", "det-deploy-check-")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(stage) }() // it is empty, and nothing depends on it
	err = rootfs.OnOwnThread(func() error {
		if err := rootfs.EnterMounts(0); err != nil {
			return err
		}
		return rootfs.Tree{Places: []rootfs.Place{{Path: runDir, Source: stage}}, Stage: stage}.Enter()
	})
	if err != nil {
		return fmt.Errorf("this machine does not let the agent make mount namespaces: %w (an agent in a container needs --cap-add SYS_ADMIN)", err)
	}
	return nil
}
