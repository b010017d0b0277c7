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

// runDir is the directory of every task's files; see mapping.
const runDir = "/run/determined"

func workDir(s container.Spec) string {
	if s.WorkDir == "" {
		return runDir + "/workdir"
	}
	return s.WorkDir
}

// layOut creates the task's paths below root. It writes the files before the mounts, so that no
// file is written through a mount onto the host. With mountpoints, it creates mount points only.
func (d dir) layOut(spec container.Spec, mountpoints bool) (root string, err error) {
	root = d.filePath("root")
	if err := os.Mkdir(root, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	t := tree{owner: spec.User, mountpoints: mountpoints}
	if t.root, err = os.OpenRoot(root); err != nil {
		return "", err
	}
	if err := errors.Join(t.fill(spec), t.root.Close()); err != nil {
		return "", err
	}
	if at, lent := d.lentFiles(); lent {
		root = at
	}
	return root, d.writePorts(spec.Ports)
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

// tree is a container's paths below a directory that links cannot escape.
type tree struct {
	root  *os.Root
	owner *container.User
	// mountpoints creates mount points instead of links.
	mountpoints bool
}

func (t tree) fill(spec container.Spec) error {
	if err := t.mkdir(relPath(runDir)); err != nil {
		return err
	}
	for _, f := range spec.Files {
		if err := t.put(f); err != nil {
			return fmt.Errorf("create %s: %w", f.Path, err)
		}
	}
	for _, m := range spec.Mounts {
		if err := t.mount(m); err != nil {
			return fmt.Errorf("bind mount %s: %w", m.ContainerPath, err)
		}
	}
	if err := t.mkdir(relPath(workDir(spec))); err != nil {
		return fmt.Errorf("create work_dir %s: %w", workDir(spec), err)
	}
	return nil
}

// mkdir creates missing directories, owned by the task's user.
func (t tree) mkdir(name string) error {
	if name == "." {
		return nil
	}
	err := t.root.Mkdir(name, 0o755)
	if errors.Is(err, fs.ErrExist) {
		_, err = t.root.Stat(name)
		return err
	}
	if errors.Is(err, fs.ErrNotExist) {
		if err = t.mkdir(path.Dir(name)); err == nil {
			err = t.root.Mkdir(name, 0o755)
		}
	}
	if err == nil && credentialOf(t.owner) != nil {
		err = t.root.Lchown(name, t.owner.UID, t.owner.GID)
	}
	return err
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
		if err := t.root.Chmod(name, os.FileMode(f.Mode&0o777)); err != nil {
			return err
		}
	case f.Link != "":
		if err := t.root.Symlink(f.Link, name); err != nil {
			return err
		}
	default:
		if err := t.writeFile(f, name); err != nil {
			return err
		}
	}
	if !hasOwner(f) {
		return nil
	}
	return t.root.Lchown(name, f.UID, f.GID)
}

func (t tree) writeFile(f container.File, name string) error {
	if f.Mode&0o111 != 0 {
		// A process that is forked during the write has the file open for writing until it
		// executes, and the task could not execute the file (ETXTBSY, "text file busy").
		syscall.ForkLock.RLock()
		defer syscall.ForkLock.RUnlock()
	}
	out, err := t.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteTo(out)
	if err = errors.Join(err, out.Chmod(os.FileMode(f.Mode&0o777)), out.Close()); err != nil || f.ModTime.IsZero() {
		return err
	}
	return t.root.Chtimes(name, f.ModTime, f.ModTime)
}

// hasOwner reports whether to change the owner of a file. An agent that is not root runs every task
// as itself, and already owns every file.
func hasOwner(f container.File) bool { return os.Getuid() == 0 && (f.UID != 0 || f.GID != 0) }

// mount creates a symbolic link to a host path, or a mount point for it.
func (t tree) mount(m container.Mount) error {
	name := relPath(m.ContainerPath)
	if _, err := t.root.Lstat(name); err == nil {
		return fmt.Errorf("a file of the task exists at that path")
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

// relPath returns a container path relative to the container's root.
func relPath(p string) string {
	if p = path.Clean(p); p == "/" {
		return "."
	}
	return p[1:]
}
