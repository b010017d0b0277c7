package process

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/det-deploy/det-deploy/agent/container"
)

// Prepare returns an error for settings that a plain process does not support, and logs the
// settings that it ignores.
func (r *Runtime) Prepare(_ context.Context, spec container.Spec, note container.Note) error {
	if err := spec.Validate(); err != nil {
		return err
	}
	spec.User = runnableUser(spec.User)
	if err := r.checkSpec(spec); err != nil {
		return err
	}
	if text := r.ignoredSettings(spec); text != "" {
		note(text)
	}
	return nil
}

// Start creates the directory and starts the program. It does not wait for the program: if the
// program does not exist, the task exits with 127 and an error in its log.
func (r *Runtime) Start(ctx context.Context, spec container.Spec) error {
	spec.User = runnableUser(spec.User)
	d := dir(filepath.Join(r.opts.Dir, spec.ID))
	if err := r.makeAnew(ctx, d, spec); err != nil {
		return &container.NeverRanError{Err: fmt.Errorf("prepare the directory of the container: %w", err)}
	}
	if r.machine.notPlaced == nil {
		return r.startContained(ctx, d, spec)
	}
	if err := r.startPlain(d, spec); err != nil {
		return &container.NeverRanError{Err: err}
	}
	return nil
}

// makeAnew creates the directory. It first removes the remains of an interrupted start.
func (r *Runtime) makeAnew(ctx context.Context, d dir, spec container.Spec) error {
	err := os.Mkdir(string(d), 0o700)
	if errors.Is(err, fs.ErrExist) {
		if err := r.remove(ctx, d, spec.ID); err != nil {
			return err
		}
		err = os.Mkdir(string(d), 0o700)
	}
	if err != nil || credentialOf(spec.User) == nil {
		return err
	}
	// Mode 0711 regardless of the umask: the user traverses the directory to its own files and
	// cannot list it.
	return os.Chmod(string(d), 0o711)
}

// startPlain starts a task as the agent's user or as the requested one.
func (r *Runtime) startPlain(d dir, spec container.Spec) error {
	if err := d.lendFiles(r.opts.Lent, spec.User); err != nil {
		return err
	}
	root, err := d.layOut(spec, false)
	if err != nil {
		return fmt.Errorf("prepare the directory of the container: %w", err)
	}
	f, err := d.openFiles()
	if err != nil {
		return err
	}
	defer f.close()
	env := inheritedEnviron()
	if credentialOf(spec.User) != nil {
		env = userEnviron(spec.User.UID, root)
	}
	spec = newMapping(root, spec).mapSpec(spec)
	cmd := exec.Command("/bin/sh", wrapped(spec.Command)[1:]...) //nolint:noctx // it outlives the agent
	// The last value of a repeated variable applies.
	cmd.Env, cmd.Dir = append(append(env, spec.Env...), markKey+"="+string(d)), workDir(spec)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: credentialOf(spec.User)}
	return startWrapped(cmd, f)
}

// inheritedEnviron returns the variables that a task inherits from the agent, and defaults for
// variables that its order does not set.
func inheritedEnviron() []string {
	out := []string{container.Unbuffered}
	for _, key := range []string{"PATH", "HOME", "LANG", "TZ"} {
		if value, ok := os.LookupEnv(key); ok {
			out = append(out, key+"="+value)
		}
	}
	return out
}

// runnableUser returns nil, the agent's own user, instead of root if the agent is not root. Tasks
// of owners without a linked account are ordered as root.
func runnableUser(u *container.User) *container.User {
	if u != nil && u.UID == 0 && os.Getuid() != 0 {
		return nil
	}
	return u
}

// credentialOf returns nil if the process does not need to switch users.
func credentialOf(u *container.User) *syscall.Credential {
	if u == nil || u.UID == os.Getuid() && u.GID == os.Getgid() {
		return nil
	}
	return &syscall.Credential{Uid: uint32(u.UID), Gid: uint32(u.GID)}
}

// checkSpec returns an error for a setting that a plain process does not support and a task would
// rely on.
func (r *Runtime) checkSpec(s container.Spec) error {
	switch {
	case len(s.Command) == 0:
		return fmt.Errorf("an entrypoint is required: this agent runs tasks without images")
	case credentialOf(s.User) != nil && os.Getuid() != 0:
		return fmt.Errorf("cannot run as user %d: this agent is not root", s.User.UID)
	case len(s.AddCaps)+len(s.DropCaps) > 0:
		return fmt.Errorf("cannot change capabilities %s: this agent runs tasks without Docker",
			strings.Join(append(append([]string{}, s.AddCaps...), s.DropCaps...), ", "))
	}
	notPlaced, isolated := r.machine.notPlaced, r.machine.notIsolated == nil
	if s.FixedPaths && notPlaced != nil {
		return fmt.Errorf("the task needs its files at fixed paths, which this agent does not support: %w", notPlaced)
	}
	if u := s.User; isolated && u != nil && (r.opts.Accounts.containsUID(u.UID) || r.opts.Accounts.containsUID(u.GID)) {
		return fmt.Errorf("cannot run as user %d with group %d: IDs %d to %d are reserved for tasks without an account (task_users)", u.UID, u.GID, r.opts.Accounts.First, r.opts.Accounts.Last)
	}
	for _, m := range s.Mounts {
		if m.ReadOnly && notPlaced != nil {
			return fmt.Errorf("bind mount %s: read-only is not supported on this agent: %w", m.ContainerPath, notPlaced)
		}
		if _, err := os.Stat(m.HostPath); err != nil {
			return fmt.Errorf("bind mount %s: %w", m.ContainerPath, err)
		}
	}
	for _, dev := range s.Devices {
		if dev.ContainerPath != "" && dev.ContainerPath != dev.HostPath {
			return fmt.Errorf("device %s: cannot map it to %s: this agent runs tasks without Docker", dev.HostPath, dev.ContainerPath)
		}
		if _, err := os.Stat(dev.HostPath); err != nil {
			return fmt.Errorf("device: %w", err)
		}
	}
	return nil
}

// ignoredSettings returns one line with the explicit settings that have no effect for a plain
// process, or "". It omits defaults, because every task would log them.
func (r *Runtime) ignoredSettings(s container.Spec) string {
	var what []string
	if s.Image != "" && !s.Unset.Image {
		what = append(what, "image "+s.Image)
	}
	if s.ShmSize != 0 && r.machine.notPlaced != nil && !s.Unset.ShmSize {
		what = append(what, "shm_size "+strconv.FormatInt(s.ShmSize, 10))
	}
	if s.Memory != 0 && r.machine.notLimited != nil {
		what = append(what, "the memory limit")
	}
	for _, e := range s.Env {
		if name, _, _ := strings.Cut(e, "="); !isShellName(name) { // the wrapper's shell drops it
			what = append(what, "variable "+name)
		}
	}
	if s.NetworkMode != "" && s.NetworkMode != "host" && !s.Unset.NetworkMode {
		what = append(what, "network_mode "+s.NetworkMode)
	}
	if len(what) == 0 {
		return ""
	}
	return "this agent runs tasks without Docker; ignored: " + strings.Join(what, ", ")
}

// isShellName reports whether name is a valid name of a shell variable.
func isShellName(name string) bool {
	for i, c := range name {
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}
