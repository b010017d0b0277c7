package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/det-deploy/det-deploy/agent/container"
	"github.com/det-deploy/det-deploy/agent/container/process/rootfs"
)

// startPlain starts a task as the agent's own user, or as the one that was asked for.
func (r *Runtime) startPlain(d dir, spec container.Spec) (pid int, err error) {
	if err := d.makeAnew(spec.User); err != nil {
		return 0, fmt.Errorf("prepare the directory of the container: %w", err)
	}
	if err := errors.Join(r.onDisk.give(d, credentialOf(spec.User) == nil), d.lendFiles(r.opts.Lent, spec.User)); err != nil {
		return 0, fmt.Errorf("prepare the directory of the container: %w", err)
	}
	l, placed := d.layoutOf(spec), r.notPlaced == nil
	if err := d.layOut(l, spec, placed); err != nil {
		return 0, fmt.Errorf("prepare the directory of the container: %w", err)
	}
	env := inheritedEnviron()
	if credentialOf(spec.User) != nil {
		home := l.root
		if l.disk != "" { // which the user passes in its place alone
			home = runDir
			if err := os.Lchown(l.disk, spec.User.UID, spec.User.GID); err != nil {
				return 0, fmt.Errorf("prepare the directory of the container: %w", err)
			}
		}
		env = account{User: *spec.User}.taskEnv(home)
	}
	start := (*exec.Cmd).Start
	if placed {
		if start, err = r.startPlaced(d, l, spec); err != nil {
			return 0, err
		}
	} else {
		spec = newMapping(l.root, spec).mapSpec(spec)
	}
	return d.launchShell(nil, start, &exec.Cmd{
		Path: "/bin/sh",
		Args: append([]string{"/bin/sh", "-c", wrapper, "det-deploy-task"}, spec.Command...),
		Env:  append(append(env, spec.Env...), markKey+"="+string(d)),
		Dir:  workDir(spec),
		SysProcAttr: &syscall.SysProcAttr{
			Setsid:     true,
			Credential: credentialOf(spec.User),
		},
	})
}

// startPlaced starts a task that sees its files where they belong. An agent that is not
// root needs a user namespace for this.
func (r *Runtime) startPlaced(d dir, l layout, spec container.Spec) (start func(*exec.Cmd) error, err error) {
	stage := d.filePath("stage")
	if err := os.Mkdir(stage, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("prepare the directory of the container: %w", err)
	}
	tree := rootfs.Tree{Places: placesOf(l, spec), Stage: stage, UID: os.Geteuid(), GID: os.Getegid()}
	if u := spec.User; u != nil {
		tree.UID, tree.GID = u.UID, u.GID
	}
	for i, m := range spec.Mounts {
		if tree.Places[i], err = placeOf(m); err != nil {
			return nil, err
		}
	}
	if os.Geteuid() != 0 {
		return tree.Start, nil
	}
	return func(cmd *exec.Cmd) error {
		return onOwnThread(func() error {
			if err := enterMounts(unix.CLONE_NEWNS); err != nil {
				return err
			}
			space, err := mountSpace()
			if err != nil {
				return err
			}
			if err := tree.Enter(); err != nil {
				return err
			}
			if err := cmd.Start(); err != nil {
				return err
			}
			if l.disk != "" && credentialOf(spec.User) == nil {
				r.onDisk.begin(l.disk, space)
			}
			return nil
		})
	}, nil
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
	err = onOwnThread(func() error {
		if err := enterMounts(unix.CLONE_NEWNS); err != nil {
			return err
		}
		return rootfs.Tree{Places: []rootfs.Place{{Path: runDir, Source: stage}}, Stage: stage}.Enter()
	})
	if err != nil {
		return fmt.Errorf("this machine does not let the agent make mount namespaces: %w (an agent in a container needs --cap-add SYS_ADMIN)", err)
	}
	return nil
}
