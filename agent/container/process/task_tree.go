package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"syscall"

	"github.com/det-deploy/det-deploy/agent/container"
)

// runDir is where the files of every task live; see mapping.
const runDir = "/run/determined"

func workDir(s container.Spec) string {
	if s.WorkDir == "" {
		return runDir + "/workdir"
	}
	return s.WorkDir
}

// layOut fills the directory, which is new: files first, then mounts, so that no
// file is ever written through a mount onto the host. With mountpoints, the mounts
// are made later, and only their places now.
func (d dir) layOut(l layout, spec container.Spec, mountpoints bool) (err error) {
	t := tree{owner: spec.User, mountpoints: mountpoints, large: l.large, made: map[string]bool{".": true}, kept: map[string]fs.FileMode{}}
	defer func() { err = errors.Join(err, t.close()) }()
	if l.root != "" {
		if t.root, err = makeRoot(l.root); err != nil {
			return err
		}
	}
	if l.info != "" {
		if t.info, err = makeRoot(l.info); err != nil {
			return err
		}
	}
	if len(l.large) > 0 {
		if t.disk, err = os.OpenRoot(l.disk); err != nil {
			return err
		}
		if err := t.takeKept(spec); err != nil {
			return err
		}
	}
	if err := t.fill(spec); err != nil {
		return err
	}
	return d.writePorts(spec.Ports)
}

// makeRoot opens a directory, which may be there.
func makeRoot(at string) (*os.Root, error) {
	if err := os.Mkdir(at, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return os.OpenRoot(at)
}

// makeAnew makes the directory, in the place of what an interrupted start left.
func (d dir) makeAnew(u *container.User) error {
	err := os.Mkdir(string(d), 0o700)
	if errors.Is(err, fs.ErrExist) {
		err = errors.Join(d.removeAll(), os.Mkdir(string(d), 0o700))
	}
	if err != nil || credentialOf(u) == nil {
		return err
	}
	// The user passes to what is its own, whatever the agent's umask, and looks at
	// nothing else.
	return os.Chmod(string(d), 0o711)
}

// removeAll removes the directory and what it leads to on disk.
func (d dir) removeAll() error {
	var none *onDisk // nothing of it is used again
	h := d.look()
	return errors.Join(none.removeFiles(d, h.files), none.removeOutput(d, h), os.RemoveAll(string(d)))
}

func (d dir) writePorts(ports []int) error {
	if len(ports) == 0 {
		return nil
	}
	var b strings.Builder
	for _, p := range ports {
		b.WriteString(strconv.Itoa(p) + "\n")
	}
	return d.makeFile("ports", b.String())
}

// tree is a container's paths below directories that nothing escapes; of those that the container
// does not have there is none.
type tree struct {
	root  *os.Root
	owner *container.User
	// mountpoints makes places for mounts rather than links.
	mountpoints bool
	// disk has the large directories.
	disk  *os.Root
	large []largeDir
	// info has the files of infoDir.
	info *os.Root
	// made are the directories that are there, and kept the modes of those of them that were
	// another task's.
	made map[string]bool
	kept map[string]fs.FileMode
}

func (t tree) close() error {
	var errs []error
	for _, r := range []*os.Root{t.root, t.disk, t.info} {
		if r != nil {
			errs = append(errs, r.Close())
		}
	}
	return errors.Join(errs...)
}

// at is where a path of the task's is made. It is nowhere for what is above the directories on disk,
// where there is no root: the machine has that.
func (t tree) at(name string) (*os.Root, string) {
	if in := relPath(infoDir); t.info != nil && isWithin(name, in) {
		return t.info, path.Join(".", strings.TrimPrefix(name, in))
	}
	return t.atDisk(name)
}

// atDisk is where it is shown, too, if it is in memory.
func (t tree) atDisk(name string) (*os.Root, string) {
	for _, l := range t.large {
		if p := relPath(l.path); isWithin(name, p) {
			return t.disk, path.Join(l.name, strings.TrimPrefix(name, p))
		}
	}
	return t.root, name
}

func (t tree) fill(spec container.Spec) error {
	if err := errors.Join(t.mkdir(relPath(runDir)), t.mkInfo()); err != nil {
		return err
	}
	for _, f := range spec.Files {
		if err := t.put(f); err != nil {
			return fmt.Errorf("put %s: %w", f.Path, err)
		}
	}
	for _, m := range spec.Mounts {
		if err := t.mount(m); err != nil {
			return fmt.Errorf("bind mount %s: %w", m.ContainerPath, err)
		}
	}
	if err := t.mkdir(relPath(workDir(spec))); err != nil {
		return fmt.Errorf("make work_dir %s: %w", workDir(spec), err)
	}
	return nil
}

// mkdir makes the directories that are missing, for the task's user.
func (t tree) mkdir(name string) error {
	if t.made[name] {
		return nil
	}
	root, at := t.at(name)
	if root == nil {
		return nil
	}
	err := root.Mkdir(at, 0o755)
	if errors.Is(err, fs.ErrExist) {
		_, err = root.Stat(at)
		t.made[name] = err == nil
		return err
	}
	if errors.Is(err, fs.ErrNotExist) {
		if err = t.mkdir(path.Dir(name)); err == nil {
			err = root.MkdirAll(at, 0o755) // its parent may be on disk
		}
	}
	if err == nil && credentialOf(t.owner) != nil {
		err = root.Lchown(at, t.owner.UID, t.owner.GID)
	}
	t.made[name] = err == nil
	return err
}

// mkInfo gives infoDir to the task's user, and makes the place on disk in which it is shown.
func (t tree) mkInfo() error {
	if t.info == nil {
		return nil
	}
	name := relPath(infoDir)
	t.made[name] = true
	if credentialOf(t.owner) != nil {
		if err := t.info.Lchown(".", t.owner.UID, t.owner.GID); err != nil {
			return err
		}
	}
	root, at := t.atDisk(name)
	return root.MkdirAll(at, 0o755)
}

func (t tree) put(f container.File) error {
	name := relPath(f.Path)
	if err := t.mkdir(path.Dir(name)); err != nil {
		return err
	}
	root, at := t.at(name)
	switch {
	case f.Dir:
		if err := t.mkdir(name); err != nil {
			return err
		}
	case f.Link != "":
		if err := root.Symlink(f.Link, at); err != nil {
			return err
		}
		return own(root, f, at)
	default:
		return writeFile(root, f, at)
	}
	if mode := os.FileMode(f.Mode & 0o777); t.kept[name] != os.ModeDir|mode {
		delete(t.kept, name)
		if err := root.Chmod(at, mode); err != nil {
			return err
		}
	}
	return own(root, f, at)
}

// writeFile finds the file once: its path is walked down from the root each time that it is named.
func writeFile(root *os.Root, f container.File, at string) error {
	if err := writeContent(root, f, at); err != nil || f.ModTime.IsZero() {
		return err
	}
	return root.Chtimes(at, f.ModTime, f.ModTime)
}

func writeContent(root *os.Root, f container.File, at string) error {
	if f.Mode&0o111 != 0 {
		// A process that is forked meanwhile has the file open for writing until its own
		// program starts, and the task could not execute it: "text file busy".
		syscall.ForkLock.RLock()
		defer syscall.ForkLock.RUnlock()
	}
	out, err := root.OpenFile(at, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = out.Write(f.Content)
	if err == nil {
		err = out.Chmod(os.FileMode(f.Mode & 0o777))
	}
	if err == nil && hasOwner(f) {
		err = out.Chown(f.UID, f.GID)
	}
	return errors.Join(err, out.Close())
}

// hasOwner says whether a file is given to whom it belongs. An agent that is not root runs
// every task as itself, and so owns every file.
func hasOwner(f container.File) bool { return os.Getuid() == 0 && (f.UID != 0 || f.GID != 0) }

func own(root *os.Root, f container.File, name string) error {
	if !hasOwner(f) {
		return nil
	}
	return root.Lchown(name, f.UID, f.GID)
}

// mount shows a path of the host as a symbolic link, or makes a place for it.
func (t tree) mount(m container.Mount) error {
	name := relPath(m.ContainerPath)
	root, at := t.at(name)
	if _, err := root.Lstat(at); err == nil {
		return fmt.Errorf("the task's own files are in its place; the process runtime can only mount where nothing is")
	}
	if err := t.mkdir(path.Dir(name)); err != nil {
		return err
	}
	if !t.mountpoints {
		return root.Symlink(m.HostPath, at)
	}
	info, err := os.Stat(m.HostPath)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return root.Mkdir(at, 0o755)
	}
	return root.WriteFile(at, nil, 0o600)
}

// relPath is a container's path below its root.
func relPath(p string) string {
	if p = path.Clean(p); p == "/" {
		return "."
	}
	return p[1:]
}
