package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/det-deploy/det-deploy/agent/container"
	"github.com/det-deploy/det-deploy/agent/container/process/rootfs"
)

// taskRoot is where an isolated task sees all of its own files; each is at its own path,
// too. Outside of tasks it is an empty directory.
const taskRoot = "/run/det-deploy-task"

// firsts are the first processes of isolated tasks. Each is root with next to no capabilities, so
// that the task can neither signal it nor take its lock, and knows nothing of the task's
// variables: see rootfs.First. It is in a mount namespace without the task's files; its child enters that
// with these as it becomes the task's user. What it starts is the task, and ends when it ends.
type firsts struct {
	program   *os.File
	openFiles *unix.Rlimit
	threads   *rootfs.Threads
	// drop are the capabilities that none of them has.
	drop []int
}

func newFirsts() (*firsts, error) {
	program, err := rootfs.NewFirst()
	if err != nil {
		return nil, err
	}
	threads, err := rootfs.NewThreads("ipc")
	if err != nil {
		return nil, errors.Join(err, program.Close())
	}
	f := &firsts{program: program, openFiles: rootfs.InheritedLimit(), threads: threads}
	if f.drop, err = droppedCapabilities(); err != nil {
		f.close()
		return nil, err
	}
	return f, nil
}

// close lets the threads end; nothing is started any more.
func (f *firsts) close() {
	if f != nil {
		_ = errors.Join(f.threads.Close(), f.program.Close())
	}
}

// droppedCapabilities are those that the kernel has and a first process does not need.
func droppedCapabilities() (out []int, err error) {
	for c := range 64 {
		_, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, uintptr(c), 0, 0, 0)
		if errors.Is(err, unix.EINVAL) {
			break // the kernel has no more
		}
		if err != nil {
			return nil, fmt.Errorf("look for capability %d: %w", c, err)
		}
		if !initCapabilities[c] {
			out = append(out, c)
		}
	}
	return out, nil
}

// fork adds what all of them have, and has start make one on a thread with namespaces of its own.
func (f *firsts) fork(first rootfs.First, start func(rootfs.First) (int, error)) (pid int, err error) {
	null, err := os.Open(os.DevNull) // for each: who shares a descriptor shares its flags and locks
	if err == nil {
		null, err = rootfs.Above(null)
	}
	if err != nil {
		return 0, err
	}
	defer func() { _ = null.Close() }()
	first.Program, first.Input, first.OpenFiles, first.Drop = f.program, null, f.openFiles, f.drop
	err = f.threads.Run(func() error {
		if err := enterNamespaces(); err != nil {
			return err
		}
		var err error
		pid, err = start(first)
		return err
	})
	return pid, err
}

// initCapabilities are what the first process needs: to enter the namespace of the task's files, and
// to become the task's user.
var initCapabilities = map[int]bool{unix.CAP_SYS_ADMIN: true, unix.CAP_SYS_CHROOT: true, unix.CAP_SETUID: true, unix.CAP_SETGID: true}

// account is whom an isolated task runs as.
type account struct {
	container.User

	// claimed says that it is one of Accounts, which another task has later.
	claimed bool
	// groups are those that it has besides, to reach its GPUs.
	groups []int
}

// credential is whom the task's program runs as. Of all groups it keeps those alone.
func (a account) credential() *syscall.Credential {
	c := &syscall.Credential{Uid: uint32(a.UID), Gid: uint32(a.GID)}
	for _, g := range a.groups {
		c.Groups = append(c.Groups, uint32(g))
	}
	return c
}

// isolate is what isolated tasks need, or the error says why there can be none.
func isolate(a Accounts) (*firsts, error) {
	if a.Last == 0 {
		return nil, errors.New("task_users is empty")
	}
	if os.Geteuid() != 0 {
		return nil, errors.New("this agent is not root")
	}
	if err := a.checkUID(); err != nil {
		return nil, err
	}
	for _, p := range []string{taskRoot, runDir} {
		if err := os.MkdirAll(p, 0o755); err != nil {
			return nil, err
		}
	}
	f, err := newFirsts()
	if err == nil {
		err = f.try(account{User: container.User{UID: a.First, GID: a.First}})
	}
	if err != nil {
		f.close()
		return nil, fmt.Errorf("this machine does not let it make namespaces: %w", err)
	}
	return f, nil
}

// try does what every start does. It needs no file system: on a full disk tasks are isolated, too.
func (f *firsts) try(who account) error {
	fd, err := unix.MemfdCreate("det-deploy-check", unix.MFD_CLOEXEC)
	if err != nil {
		return fmt.Errorf("make a file in memory: %w", err)
	}
	said, err := rootfs.Above(os.NewFile(uintptr(fd), "det-deploy-check"))
	if err != nil {
		return err
	}
	defer func() { _ = said.Close() }()
	p := rootfs.Program{Argv: []string{"/bin/sh", "-c", "test -r /proc/self/stat && echo isolated"}, Dir: "/", Credential: who.credential()}
	order, err := p.Order(false)
	if err != nil {
		return err
	}
	defer func() { _ = order.Close() }()
	first := rootfs.First{Status: said, Output: said, Errors: said, Order: order}
	pid, err := f.fork(first, func(first rootfs.First) (int, error) {
		return startInTree(first, rootfs.Tree{Stage: taskRoot})
	})
	if err != nil {
		return err
	}
	if _, err := unix.Wait4(pid, nil, 0, nil); err != nil {
		return err
	}
	text := make([]byte, 1<<10)
	n, _ := said.ReadAt(text, 0)                               // it ends before the room does
	if !bytes.HasSuffix(text[:n], []byte("\nisolated\n0\n")) { // between the process and its code
		return fmt.Errorf("a task cannot see its own processes: %s", bytes.TrimSpace(text[:n]))
	}
	return nil
}

// enterNamespaces gives this thread namespaces of its own.
func enterNamespaces() error { return rootfs.EnterMounts(unix.CLONE_NEWIPC) }

// view is what an isolated task sees of the machine.
type view struct {
	layout
	hidden []string
	spec   container.Spec
}

// start builds the view in the mount namespace of this thread and starts the first process
// in it. What is shown is opened before the first thing is covered.
func (v view) start(first rootfs.First) (pid int, err error) {
	shown, err := v.open()
	defer shown.close()
	if err != nil {
		return 0, err
	}
	sources, err := v.openSources()
	defer func() {
		for _, f := range sources {
			_ = f.Close()
		}
	}()
	if err != nil {
		return 0, err
	}
	for _, h := range toCover(v.hidden) {
		if err := coverPath(h); err != nil {
			return 0, fmt.Errorf("hide %s: %w", h, err)
		}
	}
	if err := v.privateDirs(shown.tmp); err != nil {
		return 0, err
	}
	places := placesOf(shown.layout(v.layout), v.spec)
	for i, f := range sources {
		places[i].Source = fdPath(f)
	}
	return startInTree(first, rootfs.Tree{
		Places: append(places, rootfs.Place{Path: taskRoot, Source: fdPath(shown.home)}),
		Stage:  taskRoot, UID: v.spec.User.UID, GID: v.spec.User.GID,
	})
}

// startInTree starts the first process of a task in a copy of this thread's mount
// namespace, with the thread's own, in which the task's files are in their places, in its
// hands. What is mounted in the copy goes there, too: the task's /proc.
func startInTree(process rootfs.First, tree rootfs.Tree) (pid int, err error) {
	tasks, err := os.Open(rootfs.ThreadMounts)
	if err == nil {
		tasks, err = rootfs.Above(tasks)
	}
	if err != nil {
		return 0, err
	}
	defer func() { _ = tasks.Close() }()
	first, err := copyMounts()
	if err != nil {
		return 0, err
	}
	defer func() { _ = first.Close() }()
	if err := enterMountsOf(tasks); err != nil {
		return 0, err
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
		return 0, fmt.Errorf("keep mounts to the task: %w", err)
	}
	if err := tree.Enter(); err != nil {
		return 0, err
	}
	if err := enterMountsOf(first); err != nil {
		return 0, err
	}
	process.Mounts = tasks
	return process.Fork()
}

// copyMounts gives this thread a copy of its mount namespace, which shares its mounts.
func copyMounts() (*os.File, error) {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SHARED, ""); err != nil {
		return nil, fmt.Errorf("share mounts with the task: %w", err)
	}
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return nil, fmt.Errorf("unshare: %w", err)
	}
	return os.Open(rootfs.ThreadMounts)
}

func enterMountsOf(namespace *os.File) error {
	if err := unix.Setns(int(namespace.Fd()), unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("change the mount namespace: %w", err)
	}
	return nil
}

// toCover is what of hidden paths has to be covered, each for itself: not what is below another, nor
// below a directory of which the task has its own.
func toCover(hidden []string) []string {
	var out []string
	for _, h := range hidden {
		below := func(p string) bool { return h != p && isWithin(h, p) }
		if !slices.ContainsFunc(hidden, below) && !slices.ContainsFunc(slices.Concat(privateBinds, privateMounts), below) {
			out = append(out, h)
		}
	}
	return out
}

// Directories of which each task has its own, on disk and in memory.
var (
	privateBinds  = []string{"/tmp", "/var/tmp"}
	privateMounts = []string{"/dev/shm", "/dev/mqueue", "/run/lock"}
)

// privateDirs gives the task its own in the place of directories in which all users
// of a machine may write.
func (v view) privateDirs(tmp *os.File) error {
	for _, p := range privateBinds {
		if err := bindMount(tmp, p); err != nil && !errors.Is(err, unix.ENOENT) {
			return err
		}
	}
	for _, p := range privateMounts {
		options := "mode=1777"
		if size := v.spec.ShmSize; p == "/dev/shm" && size > 0 {
			options += ",size=" + strconv.FormatInt(size, 10)
		}
		err := unix.Mount("tmpfs", p, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, options)
		if err != nil && !errors.Is(err, unix.ENOENT) {
			return fmt.Errorf("mount %s: %w", p, err)
		}
	}
	return nil
}

// openSources opens what is to be mounted, and judges what was opened: a link may
// lead anywhere.
func (v view) openSources() ([]*os.File, error) {
	var out []*os.File
	for _, m := range v.spec.Mounts {
		fd, err := unix.Open(m.HostPath, unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			return out, fmt.Errorf("bind mount %s: %w", m.HostPath, err)
		}
		f := os.NewFile(uintptr(fd), m.HostPath)
		out = append(out, f)
		real, err := os.Readlink(fdPath(f))
		if err != nil {
			return out, fmt.Errorf("bind mount %s: %w", m.HostPath, err)
		}
		for _, h := range v.hidden {
			if isWithin(real, h) {
				return out, fmt.Errorf("bind mount %s: no task may have %s", m.HostPath, h)
			}
		}
	}
	return out, nil
}

// isWithin says whether p is dir or below it.
func isWithin(p, dir string) bool { return p == dir || strings.HasPrefix(p, dir+"/") }

func openPath(p string) (*os.File, error) {
	fd, err := unix.Open(p, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", p, err)
	}
	return os.NewFile(uintptr(fd), p), nil
}

func fdPath(f *os.File) string { return "/proc/self/fd/" + strconv.Itoa(int(f.Fd())) }

// bindMount shows a file or directory at target, with what is mounted below it.
func bindMount(source *os.File, target string) error {
	if err := unix.Mount(fdPath(source), target, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("mount %s at %s: %w", source.Name(), target, err)
	}
	return nil
}

// coverPath puts nothing in the place of a path, if there is something.
func coverPath(p string) error {
	var st unix.Stat_t
	if err := unix.Stat(p, &st); errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) {
		return nil
	} else if err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		return unix.Mount("tmpfs", p, "tmpfs", unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "mode=0555,size=4k")
	}
	return unix.Mount("/dev/null", p, "", unix.MS_BIND, "")
}
