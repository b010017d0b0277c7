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
	if err := errors.Join(d.makeAnew(nil), r.onDisk.give(d, false)); err != nil {
		return 0, fmt.Errorf("prepare the directory of the container: %w", err)
	}
	who, err := r.accountOf(d, spec)
	if err != nil {
		return 0, fmt.Errorf("choose a user for the task: %w", err)
	}
	spec = ownedBy(spec, who.User)
	l := d.layoutOf(spec)
	if err := errors.Join(d.layOut(l, spec, true), d.giveTo(l, who)); err != nil {
		return 0, fmt.Errorf("prepare the directory of the container: %w", err)
	}
	program, err := programFile(who.umask(spec) + programText(append(who.taskEnv(taskRoot), spec.Env...), workDir(spec), spec.Command))
	if err != nil {
		return 0, fmt.Errorf("write down the program: %w", err)
	}
	defer func() { _ = program.Close() }()
	v := view{layout: l, hidden: r.hidden, spec: spec}
	return d.launchShell(program, func(cmd *exec.Cmd) error {
		return rootfs.OnOwnThread(func() error {
			if err := enterNamespaces(); err != nil {
				return err
			}
			return v.start(cmd)
		})
	}, initCommand(initScript, who))
}

// launchShell starts the first process of a task with the lock in its hands, and after it the program.
func (d dir) launchShell(program *os.File, start func(*exec.Cmd) error, cmd *exec.Cmd) (pid int, err error) {
	f, err := d.openFiles()
	if err != nil {
		return 0, err
	}
	defer closeFiles(f)
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = f.Stdout, f.Stderr, []*os.File{f.Status, program}
	if err := start(cmd); err != nil {
		return 0, fmt.Errorf("start the process: %w", err)
	}
	pid = cmd.Process.Pid
	// From here on it is waited for by its id, as one of an earlier agent is.
	return pid, cmd.Process.Release()
}

// accountOf is noted in the directory before anything can run as it.
func (r *Runtime) accountOf(d dir, spec container.Spec) (account, error) {
	who := account{groups: gpuGroups(spec.GPUs)}
	if u := spec.User; u != nil && u.UID != 0 {
		who.User = *u
	} else {
		uid, err := r.opts.Accounts.claimUID(d)
		if err != nil {
			return who, err
		}
		who.User, who.claimed = container.User{UID: uid, GID: uid}, true
	}
	return who, d.replaceFile("user", strconv.Itoa(who.UID)+"\n")
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

// umask leaves what a task of an experiment writes open to the next one, which runs as another
// user: they write into one directory of checkpoints, and a third deletes them. Which of them sees
// that directory at all is decided by who may look into its parent.
func (a account) umask(spec container.Spec) string {
	if !a.claimed || !spec.FixedPaths {
		return ""
	}
	return "umask 0\n"
}

// giveTo makes what is the task's own, beside the files. Its output is, so that it
// may open /dev/stdout and /dev/stderr; it reaches them in no other way.
func (d dir) giveTo(l layout, who account) error {
	for _, name := range outputs {
		f, err := openOwn(d.outputFile(name), logFlags)
		if err != nil {
			return err
		}
		if err := errors.Join(f.Chown(who.UID, who.GID), f.Close()); err != nil {
			return err
		}
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
