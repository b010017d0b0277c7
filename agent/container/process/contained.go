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

// startContained starts a task in a container of runc's, which shares the machine's file system
// and network.
func (r *Runtime) startContained(ctx context.Context, d dir, spec container.Spec) error {
	who, err := r.accountOf(d, spec)
	if err != nil {
		return &container.NeverRanError{Err: fmt.Errorf("choose a user for the task: %w", err)}
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
	files.close() // otherwise its lock is held here
	if derr := d.sandbox().delete(context.WithoutCancel(ctx)); derr != nil {
		return errors.Join(err, derr)
	}
	if s, serr := d.readStatus(); serr != nil || s.started {
		return errors.Join(err, serr)
	}
	return &container.NeverRanError{Err: err}
}

// prepareBundle lays out the directory, and opens what the task is to have.
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
		limits: m.limits, files: m.files, env: taskEnviron(who, spec),
	}
	if !who.rootless {
		b.places = append(b.places, place{path: taskRoot, source: root, own: true})
	}
	return files, b.write()
}

// taskEnviron is the whole environment of a task's program.
func taskEnviron(who account, spec container.Spec) []string {
	env := inheritedEnviron()
	if !who.rootless {
		env = userEnviron(who.UID, taskRoot)
	}
	// Of a repeated variable the last counts.
	cmd := exec.Cmd{Env: append(append(env, spec.Env...), "PWD="+workDir(spec))}
	return cmd.Environ()
}

// giveTo makes what is the task's own, beside its files.
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

// streams are a task's for runc, which hands them on.
type streams taskFiles

// Set has runc start with them.
func (s streams) Set(cmd *exec.Cmd) { cmd.Stdout, cmd.Stderr = s.stdout, s.stderr }

// Stdin is none: a task reads nothing.
func (streams) Stdin() io.WriteCloser { return nil }

// Stdout is none: a task writes to its own file.
func (streams) Stdout() io.ReadCloser { return nil }

// Stderr is none: a task writes to its own file.
func (streams) Stderr() io.ReadCloser { return nil }

// Close leaves the files to who opened them.
func (streams) Close() error { return nil }
