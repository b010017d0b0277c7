package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"

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
func (d dir) layOut(spec container.Spec, mountpoints bool) error {
	if err := os.Mkdir(d.rootDir(), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	root, err := os.OpenRoot(d.rootDir())
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	t := tree{root: root, owner: spec.User, mountpoints: mountpoints}
	if err := t.fill(spec); err != nil {
		return err
	}
	return d.writePorts(spec.Ports)
}

// makeAnew makes the directory, in the place of what an interrupted start left. Take, which may
// be nil, may put one there that was used before.
func (d dir) makeAnew(u *container.User, take func(dir) bool) error {
	if err := os.RemoveAll(string(d)); err != nil {
		return err
	}
	if credentialOf(u) == nil && take != nil && take(d) {
		return nil
	}
	if err := os.Mkdir(string(d), 0o700); err != nil || credentialOf(u) == nil {
		return err
	}
	// The user passes to what is its own, whatever the agent's umask, and looks at
	// nothing else.
	return os.Chmod(string(d), 0o711)
}

func (d dir) writePorts(ports []int) error {
	if len(ports) == 0 {
		return nil
	}
	var b strings.Builder
	for _, p := range ports {
		b.WriteString(strconv.Itoa(p) + "\n")
	}
	return d.replaceFile("ports", b.String())
}

// tree is a container's paths below a directory that nothing escapes.
type tree struct {
	root  *os.Root
	owner *container.User
	// mountpoints makes places for mounts rather than links.
	mountpoints bool
}

func (t tree) fill(spec container.Spec) error {
	if err := t.mkdir(relPath(runDir)); err != nil {
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
	if name == "." {
		return nil
	}
	if _, err := t.root.Stat(name); err == nil {
		return nil
	}
	if err := t.mkdir(path.Dir(name)); err != nil {
		return err
	}
	if err := t.root.Mkdir(name, 0o755); err != nil {
		return err
	}
	if credentialOf(t.owner) == nil {
		return nil
	}
	return t.root.Lchown(name, t.owner.UID, t.owner.GID)
}

func (t tree) put(f container.File) error {
	name := relPath(f.Path)
	if err := t.mkdir(path.Dir(name)); err != nil {
		return err
	}
	switch {
	case f.Dir:
		if err := t.mkdir(name); err != nil {
			return err
		}
	case f.Link != "":
		if err := t.root.Symlink(f.Link, name); err != nil {
			return err
		}
		return t.own(f, name)
	default:
		if err := t.root.WriteFile(name, f.Content, 0o600); err != nil {
			return err
		}
	}
	if err := t.root.Chmod(name, os.FileMode(f.Mode&0o777)); err != nil {
		return err
	}
	if !f.ModTime.IsZero() && !f.Dir {
		if err := t.root.Chtimes(name, f.ModTime, f.ModTime); err != nil {
			return err
		}
	}
	return t.own(f, name)
}

// own gives the file to whom it belongs. An agent that is not root runs
// every task as itself, and so owns every file.
func (t tree) own(f container.File, name string) error {
	if os.Getuid() != 0 || f.UID == 0 && f.GID == 0 {
		return nil
	}
	return t.root.Lchown(name, f.UID, f.GID)
}

// mount shows a path of the host as a symbolic link, or makes a place for it.
func (t tree) mount(m container.Mount) error {
	name := relPath(m.ContainerPath)
	if _, err := t.root.Lstat(name); err == nil {
		return fmt.Errorf("the task's own files are in its place; the process runtime can only mount where nothing is")
	}
	if err := t.mkdir(path.Dir(name)); err != nil {
		return err
	}
	if !t.mountpoints {
		return t.root.Symlink(m.HostPath, name)
	}
	info, err := os.Stat(m.HostPath)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return t.root.Mkdir(name, 0o755)
	}
	return t.root.WriteFile(name, nil, 0o600)
}

// relPath is a container's path below its root.
func relPath(p string) string {
	if p = path.Clean(p); p == "/" {
		return "."
	}
	return p[1:]
}
