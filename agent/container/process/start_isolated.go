package process

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/det-deploy/det-deploy/agent/container"
	"github.com/det-deploy/det-deploy/agent/container/process/rootfs"
)

// startIsolated starts a task in namespaces of its own, as a user of its own or as
// the account that its owner is linked to. Links to root are refused: root could
// leave the namespaces.
func (r *Runtime) startIsolated(d dir, spec container.Spec) (pid int, err error) {
	h := &held{isolated: true}
	defer func() {
		if err != nil {
			h.reads.close()
		}
	}()
	err = d.makeAnew(nil)
	if err == nil {
		h.given, err = r.onDisk.give(d, false)
	}
	if err != nil {
		return 0, fmt.Errorf("prepare the directory of the container: %w", err)
	}
	who, err := r.accountOf(d, spec)
	if err != nil {
		return 0, fmt.Errorf("choose a user for the task: %w", err)
	}
	h.uid = who.UID
	spec = ownedBy(spec, who.User)
	l := d.layoutOf(h, spec)
	if err := errors.Join(d.layOut(l, spec, true), d.giveTo(l, h, who)); err != nil {
		return 0, fmt.Errorf("prepare the directory of the container: %w", err)
	}
	if pid, err = r.firsts.start(d, h, view{layout: l, hidden: r.hidden, spec: spec}, who); err == nil {
		r.hold(spec.ID, h)
	}
	return pid, err
}

// start starts the first process of a task with the lock in its hands, and after it the program.
func (f *firsts) start(d dir, h *held, v view, who account) (pid int, err error) {
	files, err := d.openFiles(d.outputAt(h.output))
	if err == nil {
		err = placeAbove(&files.Status, &files.Stdout, &files.Stderr)
	}
	defer func() { closeFiles(files) }()
	if err != nil {
		return 0, err
	}
	order, err := who.program(v.spec).Order(who.sharesFiles(v.spec))
	if err != nil {
		return 0, err
	}
	defer func() { _ = order.Close() }()
	first := rootfs.First{Status: files.Status, Output: files.Stdout, Errors: files.Stderr, Order: order}
	if pid, err = f.fork(first, v.start); err != nil {
		return 0, fmt.Errorf("start the process: %w", err)
	}
	// From here on it is waited for by its id, as one of an earlier agent is.
	return pid, nil
}

// placeAbove moves files to descriptors that no file of a first process has there.
func placeAbove(files ...**os.File) (err error) {
	for _, f := range files {
		if err == nil {
			*f, err = rootfs.Above(*f)
		}
	}
	return err
}

// program is what the task runs.
func (a account) program(spec container.Spec) rootfs.Program {
	// Of a repeated variable the last counts.
	cmd := exec.Cmd{Env: append(append(a.taskEnv(taskRoot), spec.Env...), "PWD="+workDir(spec))}
	return rootfs.Program{Argv: spec.Command, Env: cmd.Environ(), Dir: workDir(spec), Credential: a.credential()}
}

// accountOf is noted in the directory before anything can run as it.
func (r *Runtime) accountOf(d dir, spec container.Spec) (account, error) {
	who := account{groups: gpuGroups(spec.GPUs)}
	if u := spec.User; u != nil && u.UID != 0 {
		who.User = *u
	} else {
		uid, err := r.claims.claimUID(d)
		if err != nil {
			return who, err
		}
		who.User, who.claimed = container.User{UID: uid, GID: uid}, true
	}
	return who, d.makeFile("user", strconv.Itoa(who.UID)+"\n")
}

// ownedBy gives every file of the task to its user: which users the archive of a
// client speaks of means nothing here.
func ownedBy(spec container.Spec, u container.User) container.Spec {
	spec.User = &u
	spec.Files = slices.Clone(spec.Files)
	for i := range spec.Files {
		spec.Files[i].UID, spec.Files[i].GID = u.UID, u.GID
	}
	return spec
}

// sharesFiles leaves what a task of an experiment writes open to the next one, which runs as another
// user: they write into one directory of checkpoints, and a third deletes them. Which of them sees
// that directory at all is decided by who may look into its parent.
func (a account) sharesFiles(spec container.Spec) bool { return a.claimed && spec.FixedPaths }

// giveTo makes what is the task's own, beside the files. Its output is, so that it
// may open /dev/stdout and /dev/stderr; it reaches them in no other way.
func (d dir) giveTo(l layout, h *held, who account) error {
	if err := d.giveOutputTo(h, who); err != nil {
		return err
	}
	if err := os.Mkdir(l.tmp, 0o700); err != nil {
		return err
	}
	for _, p := range []string{l.home(), l.tmp} {
		if err := os.Lchown(p, who.UID, who.GID); err != nil {
			return err
		}
	}
	return nil
}

func (d dir) giveOutputTo(h *held, who account) error {
	if h.reads != nil {
		return h.reads.each(func(f *os.File) error { return f.Chown(who.UID, who.GID) })
	}
	for _, name := range d.outputFiles() {
		f, err := openOwn(name, logFlags)
		if err != nil {
			return err
		}
		if err := errors.Join(f.Chown(who.UID, who.GID), f.Close()); err != nil {
			return err
		}
	}
	return nil
}

// tmpName is the name of what an isolated task sees as /tmp.
const tmpName = "tmp"

// taskEnv is a task's environment of its directory and user. Python asks for the name
// of a user that /etc/passwd does not have; such a one has a home in the task's files.
func (a account) taskEnv(files string) []string {
	name, home := "task-"+strconv.Itoa(a.UID), files
	if u, err := user.LookupId(strconv.Itoa(a.UID)); err == nil {
		name, home = u.Username, cmp.Or(u.HomeDir, files)
	}
	return append(inheritedEnviron(), "HOME="+home, "USER="+name, "LOGNAME="+name)
}

// gpuGroups are the groups that may use the machine's GPUs, where access is restricted.
func gpuGroups(gpus []string) []int {
	if len(gpus) == 0 {
		return nil
	}
	var out []int
	for _, pattern := range []string{"/dev/nvidia*", "/dev/kfd", "/dev/dri/renderD*"} {
		nodes, _ := filepath.Glob(pattern) // the pattern is good
		for _, n := range nodes {
			var st unix.Stat_t
			if unix.Stat(n, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFCHR || st.Mode&0o006 == 0o006 {
				continue
			}
			if g := int(st.Gid); g != 0 && st.Mode&0o060 == 0o060 && !slices.Contains(out, g) {
				out = append(out, g)
			}
		}
	}
	return out
}
