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

// makeStorage makes the directories of a storage that a task writes checkpoints in, and the places in
// them where other checkpoints are mounted.
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

// makePlace makes the directory over which a checkpoint is mounted, in that of the task.
func makePlace(own []*agentv1.Mount, m *agentv1.Mount, u *agentv1.User) error {
	if _, err := os.Stat(m.GetHostPath()); err != nil {
		return fmt.Errorf("the checkpoint to start from is not on this machine: %w", err)
	}
	for _, o := range own {
		if below, found := strings.CutPrefix(path.Clean(m.GetContainerPath()), path.Clean(o.GetContainerPath())+"/"); found {
			return makeOwn(o.GetHostPath(), filepath.Join(o.GetHostPath(), below), u)
		}
	}
	return nil
}

// makeOwn makes a directory below one that the machine must have, with the permissions of that. It
// follows no link.
func makeOwn(above, dir string, u *agentv1.User) error {
	rel, err := filepath.Rel(above, dir)
	if err != nil || rel == "." {
		return err
	}
	root, err := os.OpenRoot(above)
	if err != nil {
		return fmt.Errorf("this machine must have the directory, which the tasks' users may write: %w", err)
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
			return fmt.Errorf("make %s: %w", filepath.Join(above, at), err)
		}
	}
	return giveOwn(root, rel, like, u)
}

// makeLike makes one directory where there is none.
func makeLike(root *os.Root, name string, like fs.FileInfo) error {
	err := root.Mkdir(name, 0o700)
	if errors.Is(err, fs.ErrExist) {
		info, err := root.Lstat(name)
		if err == nil && !info.IsDir() {
			err = errors.New("something else is there, and no directory")
		}
		return err
	}
	if err != nil {
		return err
	}
	return root.Chmod(name, like.Mode().Perm()) // Mkdir's are cut by the agent's mask
}

// giveOwn gives a directory to the task's user. One that has no account of its own writes by the
// permissions, and a file system may refuse the change: an NFS server with root_squash.
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
