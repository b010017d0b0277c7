package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	runc "github.com/containerd/go-runc"

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
	err = d.run(context.WithoutCancel(ctx), spec.ID, files)
	if err == nil {
		return nil
	}
	err = fmt.Errorf("start the process: %w", err)
	files.close() // otherwise its lock is held here
	if derr := d.deleteContainer(context.WithoutCancel(ctx)); derr != nil {
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

// runc is the program, with what it keeps of this one container in the directory. On a
// machine that was started again that is of no use, as runc finds out by itself.
func (d dir) runc() *runc.Runc {
	return &runc.Runc{
		Root: d.filePath("state"), Log: d.filePath("runc.log"), LogFormat: runc.JSON,
		// A signal for the agent's own group must not end it half-way.
		Setpgid: true,
	}
}

// run starts the container that config.json describes, and leaves it.
func (d dir) run(ctx context.Context, id string, f taskFiles) error {
	_, err := d.runc().Run(ctx, runcID(id), string(d), &runc.CreateOpts{
		IO: streams(f), Detach: true, PidFile: d.filePath("pid"), NoNewKeyring: true, ExtraFiles: []*os.File{f.status},
	})
	if err == nil {
		return nil
	}
	if text := d.lastError(); text != "" {
		return errors.New("runc: " + text)
	}
	return err
}

// runcID is what runc calls a container; it takes fewer characters than we do.
func runcID(id string) string {
	return strings.Map(func(c rune) rune {
		if c < 0x80 && (c == '_' || c == '-' || c == '.' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z') {
			return c
		}
		return '_'
	}, id)
}

// runcLogMost bounds how much of its log is read, in bytes.
const runcLogMost = 64 << 10

// lastError is what runc has logged last, or empty.
func (d dir) lastError() string {
	f, err := d.openFile("runc.log", os.O_RDONLY)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, runcLogMost))
	if err != nil {
		return ""
	}
	return lastMessage(data)
}

// deleteContainer ends what is left of a container and has runc forget it.
func (d dir) deleteContainer(ctx context.Context) error {
	known, err := filepath.Glob(filepath.Join(d.filePath("state"), "*"))
	if err != nil || len(known) == 0 {
		return err
	}
	id := filepath.Base(known[0])
	if err := d.runc().Delete(ctx, id, &runc.DeleteOpts{Force: true}); err != nil {
		return fmt.Errorf("runc delete: %w", err)
	}
	return nil
}

// firstProcess is the id of the container's first process on the machine; found is false as long
// as runc has not started one.
func (d dir) firstProcess(ctx context.Context) (pid int, found bool, err error) {
	if data, err := d.readFile("pid"); err == nil {
		if pid, err := strconv.Atoi(string(bytes.TrimSpace(data))); err == nil {
			return pid, true, nil
		}
	}
	// runc, or its agent, was killed before the file was written.
	known, err := filepath.Glob(filepath.Join(d.filePath("state"), "*"))
	if err != nil || len(known) == 0 {
		return 0, false, err
	}
	c, err := d.runc().State(ctx, filepath.Base(known[0]))
	if err != nil || c.Pid == 0 {
		return 0, false, nil //nolint:nilerr // it is being made, or being deleted
	}
	return c.Pid, true, nil
}

// containerRuns reports whether the container has its first process, by more than that one's id.
func (d dir) containerRuns(ctx context.Context) (bool, error) {
	known, err := filepath.Glob(filepath.Join(d.filePath("state"), "*"))
	if err != nil || len(known) == 0 {
		return false, err
	}
	c, err := d.runc().State(ctx, filepath.Base(known[0]))
	if err != nil {
		return false, fmt.Errorf("runc state: %w", err)
	}
	return c.Status != "stopped", nil
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
