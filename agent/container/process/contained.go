package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"

	"github.com/det-deploy/det-deploy/agent/container"
)

// startContained starts a task in a runc container that shares the machine's file system and
// network.
func (r *Runtime) startContained(ctx context.Context, d dir, spec container.Spec) error {
	who, err := r.accountOf(d, spec)
	if err != nil {
		return &container.NeverRanError{Err: fmt.Errorf("assign a user to the task: %w", err)}
	}
	files, err := r.prepareBundle(d, spec, who, r.machine)
	if err != nil {
		files.close()
		return &container.NeverRanError{Err: err}
	}
	defer files.close()
	err = d.sandbox().run(context.WithoutCancel(ctx), spec.ID, files)
	if err == nil {
		return d.sandbox().forgetSpec()
	}
	err = fmt.Errorf("start the process: %w", err)
	files.close() // otherwise this process keeps its lock
	if derr := d.sandbox().delete(context.WithoutCancel(ctx)); derr != nil {
		return errors.Join(err, derr)
	}
	if s, serr := d.readStatus(); serr != nil || s.started {
		return errors.Join(err, serr)
	}
	return &container.NeverRanError{Err: err}
}

// prepareBundle creates the directory and the bundle, and opens the task's files.
func (r *Runtime) prepareBundle(d dir, spec container.Spec, who account, m machine) (files taskFiles, err error) {
	if !who.rootless {
		spec = ownedBy(spec, who.User)
	}
	root, err := d.layOut(spec, true)
	if err != nil {
		return files, fmt.Errorf("prepare the directory of the container: %w", err)
	}
	if files, err = d.openFiles(); err != nil {
		return files, err
	}
	if err := d.giveTo(who, files); err != nil {
		return files, fmt.Errorf("prepare the directory of the container: %w", err)
	}
	var hidden []string
	if !who.rootless {
		hidden = r.hidden
	}
	if spec.Mounts, err = resolveMounts(spec.Mounts, hidden); err != nil {
		return files, err
	}
	b := bundle{
		d: d, spec: spec, who: who, places: placesOf(root, spec), hidden: hidden,
		limits: r.limitsOf(spec, m), files: m.files, env: taskEnviron(who, spec),
	}
	if !who.rootless {
		b.places = append(b.places, place{path: taskRoot, source: root, own: true})
	}
	return files, b.write()
}

// limitsOf returns the limits of a task: the smaller ones of the agent's and of its order's.
func (r *Runtime) limitsOf(spec container.Spec, m machine) Limits {
	if m.notLimited != nil {
		return Limits{}
	}
	return Limits{
		Processes: smallest(r.opts.Limits.Processes, spec.Processes),
		Memory:    smallest(r.opts.Limits.Memory, spec.Memory),
	}
}

// taskEnviron returns the complete environment of a task's program.
func taskEnviron(who account, spec container.Spec) []string {
	env := inheritedEnviron()
	if !who.rootless {
		env = userEnviron(who.UID, taskRoot)
	}
	// Environ keeps the last value of a repeated variable.
	cmd := exec.Cmd{Env: append(append(env, spec.Env...), "PWD="+workDir(spec))}
	return cmd.Environ()
}

// giveTo creates the task's tmp directory and gives its files to the task's user.
func (d dir) giveTo(who account, files taskFiles) error {
	if err := os.Mkdir(d.filePath("tmp"), 0o700); err != nil || who.rootless {
		return err
	}
	return errors.Join(
		os.Lchown(d.filePath("root"), who.UID, who.GID),
		os.Lchown(d.filePath("tmp"), who.UID, who.GID),
		files.chown(who.UID, who.GID),
	)
}

// streams implements runc.IO with the files of a task.
type streams taskFiles

// Set makes runc start with the files.
func (s streams) Set(cmd *exec.Cmd) { cmd.Stdout, cmd.Stderr = s.stdout, s.stderr }

// Stdin returns nil, because a task has no standard input.
func (streams) Stdin() io.WriteCloser { return nil }

// Stdout returns nil, because a task writes to a file.
func (streams) Stdout() io.ReadCloser { return nil }

// Stderr returns nil, because a task writes to a file.
func (streams) Stderr() io.ReadCloser { return nil }

// Close does nothing; the caller closes the files.
func (streams) Close() error { return nil }
