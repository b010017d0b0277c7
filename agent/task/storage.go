package task

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
)

// makeStorage creates the directories for a task's checkpoints in the storage, and the mount points
// of other checkpoints in them.
func makeStorage(s *agentv1.Spec) error {
	var own []*agentv1.Mount
	for _, m := range s.GetMounts() {
		if m.GetStorage() == "" {
			continue
		}
		var err error
		if m.GetReadOnly() {
			err = makePlace(own, m, s.GetUser())
		} else {
			own = append(own, m)
			err = makeOwn(m.GetStorage(), m.GetHostPath(), s.GetUser())
		}
		if err != nil {
			return fmt.Errorf("checkpoint_storage: %w", err)
		}
	}
	return nil
}

// makePlace creates the mount point of a checkpoint in the task's own directory.
func makePlace(own []*agentv1.Mount, m *agentv1.Mount, u *agentv1.User) error {
	if _, err := os.Stat(m.GetHostPath()); err != nil {
		return fmt.Errorf("the files to read are not on this machine: %w", err)
	}
	for _, o := range own {
		if below, found := strings.CutPrefix(path.Clean(m.GetContainerPath()), path.Clean(o.GetContainerPath())+"/"); found {
			return makeOwn(o.GetHostPath(), filepath.Join(o.GetHostPath(), below), u)
		}
	}
	return nil
}

// makeOwn creates a directory below an existing one, with the same permissions. It does not follow
// links.
func makeOwn(above, dir string, u *agentv1.User) error {
	rel, err := filepath.Rel(above, dir)
	if err != nil || rel == "." {
		return err
	}
	root, err := os.OpenRoot(above)
	if err != nil {
		return fmt.Errorf("the directory must exist on this machine and be writable for the users of tasks: %w", err)
	}
	defer func() { _ = root.Close() }()
	like, err := root.Stat(".")
	if err != nil {
		return err
	}
	at := ""
	for name := range strings.SplitSeq(rel, "/") {
		at = filepath.Join(at, name)
		if err := makeLike(root, at, like); err != nil {
			return fmt.Errorf("create %s: %w", filepath.Join(above, at), err)
		}
	}
	return giveOwn(root, rel, like, u)
}

// makeLike creates one directory unless it exists.
func makeLike(root *os.Root, name string, like fs.FileInfo) error {
	err := root.Mkdir(name, 0o700)
	if errors.Is(err, fs.ErrExist) {
		info, err := root.Lstat(name)
		if err == nil && !info.IsDir() {
			err = errors.New("not a directory")
		}
		return err
	}
	if err != nil {
		return err
	}
	return root.Chmod(name, like.Mode().Perm()) // the umask of the agent applies to Mkdir
}

// giveOwn changes the owner of a directory to the task's user. A user without an account has access
// through the permissions. A file system may reject the change, such as NFS with root_squash; that
// is no error.
func giveOwn(root *os.Root, name string, like fs.FileInfo, u *agentv1.User) error {
	if os.Geteuid() != 0 {
		return nil
	}
	uid, gid := int(u.GetUid()), int(u.GetGid())
	if stat, ok := like.Sys().(*syscall.Stat_t); ok && uid == 0 {
		uid, gid = int(stat.Uid), int(stat.Gid)
	}
	err := root.Lchown(name, uid, gid)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	return err
}
