package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/det-deploy/det-deploy/agent/container"
	"github.com/det-deploy/det-deploy/agent/container/process/shim"
)

// Prepare refuses what a plain process cannot have, and says what it ignores.
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

// Start lays out the directory and has the program started. It does not wait for
// it: one that does not exist ends with 127, and says so in its log.
func (r *Runtime) Start(ctx context.Context, spec container.Spec) error {
	spec.User = runnableUser(spec.User)
	d := r.containerDir(spec.ID)
	if before := r.forget(spec.ID); before != nil { // its directory is made again
		before.reads.close()
	}
	if r.notIsolated != nil {
		return r.startPlain(ctx, d, spec)
	}
	pid, err := r.startIsolated(d, spec)
	if err != nil {
		return &container.NeverRanError{Err: err}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.children[spec.ID] = pid
	return nil
}

// openFiles opens what a task has open, with the lock held. Output are the files of its streams.
func (d dir) openFiles(output [len(outputs)]string) (f shim.Files, err error) {
	defer func() {
		if err != nil {
			closeFiles(f)
		}
	}()
	if f.Status, err = d.openFile("status", os.O_CREATE|os.O_RDWR|os.O_APPEND); err != nil {
		return f, err
	}
	if err := lockFile(f.Status); err != nil {
		return f, fmt.Errorf("lock the container: %w", err)
	}
	// One that cannot write its lines on a full disk would lose the end of the
	// task. A file system that cannot set room aside goes without.
	err = unix.Fallocate(int(f.Status.Fd()), unix.FALLOC_FL_KEEP_SIZE, 0, statusRoom)
	if err != nil && !errors.Is(err, unix.EOPNOTSUPP) && !errors.Is(err, unix.ENOSYS) {
		return f, fmt.Errorf("set room aside for the end of the task: %w", err)
	}
	if f.Stdout, err = openOwn(output[0], logFlags); err != nil {
		return f, err
	}
	f.Stderr, err = openOwn(output[1], logFlags)
	return f, err
}

func closeFiles(f shim.Files) {
	for _, f := range []*os.File{f.Status, f.Stdout, f.Stderr} {
		if f != nil {
			_ = f.Close()
		}
	}
}

func lockFile(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) }

// statusRoom holds both lines of the status file.
const statusRoom = 64

const logFlags = os.O_CREATE | os.O_WRONLY | os.O_APPEND

// inheritedEnviron is what a task sees of the agent's own environment, and what holds where its order
// does not say otherwise.
func inheritedEnviron() []string {
	out := []string{container.Unbuffered}
	for _, key := range []string{"PATH", "HOME", "LANG", "TZ"} {
		if value, ok := os.LookupEnv(key); ok {
			out = append(out, key+"="+value)
		}
	}
	return out
}

// runnableUser is nil, the agent's own user, in the place of root where the agent is not: root
// is whom tasks run as whose owners have no account of their own.
func runnableUser(u *container.User) *container.User {
	if u != nil && u.UID == 0 && os.Getuid() != 0 {
		return nil
	}
	return u
}

// credentialOf is nil when nothing has to be switched.
func credentialOf(u *container.User) *syscall.Credential {
	if u == nil || u.UID == os.Getuid() && u.GID == os.Getgid() {
		return nil
	}
	return &syscall.Credential{Uid: uint32(u.UID), Gid: uint32(u.GID)}
}

// checkSpec lists what a plain process cannot have and a task would rely on.
func (r *Runtime) checkSpec(s container.Spec) error {
	switch {
	case len(s.Command) == 0:
		return fmt.Errorf("the process runtime needs an entrypoint: it has no image to take one from")
	case credentialOf(s.User) != nil && os.Getuid() != 0:
		return fmt.Errorf("run as user %d: this agent is not root and cannot switch users", s.User.UID)
	case len(s.AddCaps)+len(s.DropCaps) > 0:
		return fmt.Errorf("capabilities %s: the process runtime cannot change them; use the docker runtime",
			strings.Join(append(append([]string{}, s.AddCaps...), s.DropCaps...), ", "))
	}
	if s.FixedPaths && r.notPlaced != nil {
		return fmt.Errorf("the task needs its files at fixed paths, which this agent cannot give a plain process: %w; or use the docker runtime", r.notPlaced)
	}
	isolated := r.notIsolated == nil
	if u := s.User; isolated && u != nil && r.opts.Accounts.containsUID(u.UID) {
		return fmt.Errorf("run as user %d: users %d to %d are those of tasks without an account (task_users)", u.UID, r.opts.Accounts.First, r.opts.Accounts.Last)
	}
	for _, m := range s.Mounts {
		if m.ReadOnly && r.notPlaced != nil {
			return fmt.Errorf("bind mount %s: this agent cannot make it read-only for a plain process: %w; or use the docker runtime", m.ContainerPath, r.notPlaced)
		}
		if _, err := os.Stat(m.HostPath); err != nil {
			return fmt.Errorf("bind mount %s: %w", m.ContainerPath, err)
		}
	}
	for _, dev := range s.Devices {
		if dev.ContainerPath != "" && dev.ContainerPath != dev.HostPath {
			return fmt.Errorf("device %s: the process runtime cannot show it as %s; use the docker runtime", dev.HostPath, dev.ContainerPath)
		}
		if _, err := os.Stat(dev.HostPath); err != nil {
			return fmt.Errorf("device: %w", err)
		}
	}
	return nil
}

// ignoredSettings says in one line what was set and has no meaning for a plain process. What was
// not set is no news, and a line in the log of each task is not free.
func (r *Runtime) ignoredSettings(s container.Spec) string {
	var what []string
	if s.Image != "" && !s.Unset.Image {
		what = append(what, "image "+s.Image)
	}
	if s.ShmSize != 0 && r.notIsolated != nil && !s.Unset.ShmSize {
		what = append(what, "shm_size "+strconv.FormatInt(s.ShmSize, 10))
	}
	if s.NetworkMode != "" && s.NetworkMode != "host" && !s.Unset.NetworkMode {
		what = append(what, "network_mode "+s.NetworkMode)
	}
	if len(what) == 0 {
		return ""
	}
	return "this agent runs plain processes; ignored: " + strings.Join(what, ", ")
}
