package process

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/det-deploy/det-deploy/agent/container"
)

// lendFiles places the paths of a task without isolation below another directory if the task's user
// cannot reach the agent's data_dir, which is often below a directory that only root can enter. It
// leaves a link in their place.
func (d dir) lendFiles(below string, u *container.User) error {
	if credentialOf(u) == nil || canReach(string(d), *u) {
		return nil
	}
	if below == "" {
		return fmt.Errorf("cannot run as user %d: no access to %s; grant execute permission on its parent directories, or change data_dir", u.UID, d)
	}
	at := filepath.Join(below, filepath.Base(string(d)))
	// Chmod regardless of the umask: other users may traverse the directory but not list it.
	if err := errors.Join(os.MkdirAll(below, 0o711), os.Chmod(below, 0o711), giveBack(at)); err != nil {
		return err
	}
	if !canReach(below, *u) {
		return fmt.Errorf("cannot run as user %d: no access to %s or %s; grant execute permission on the parent directories of one", u.UID, d, below)
	}
	if err := errors.Join(noteLender(d, at), os.Mkdir(at, 0o700)); err != nil {
		return err
	}
	return errors.Join(os.Lchown(at, u.UID, u.GID), os.Symlink(at, d.filePath("root")))
}

// giveBackLent deletes the paths of the task that are elsewhere.
func (d dir) giveBackLent() error {
	at, lent := d.lentFiles()
	if !lent {
		return nil
	}
	return giveBack(at)
}

// lentFiles returns the directory of the task's paths, if it is elsewhere. It ignores a link in a
// directory that does not belong to the agent, because it cannot be trusted.
func (d dir) lentFiles() (at string, found bool) {
	if !d.isOwn() {
		return "", false
	}
	at, err := os.Readlink(d.filePath("root"))
	return at, err == nil && filepath.Base(at) == filepath.Base(string(d))
}

// canReach reports whether a user may traverse p and every directory above it.
func canReach(p string, u container.User) bool {
	for ; ; p = filepath.Dir(p) {
		var st unix.Stat_t
		if unix.Stat(p, &st) != nil {
			return false
		}
		bit := uint32(0o001)
		switch {
		case int(st.Uid) == u.UID:
			bit = 0o100
		case int(st.Gid) == u.GID:
			bit = 0o010
		}
		if st.Mode&bit == 0 {
			return false
		}
		if p == filepath.Dir(p) {
			return true
		}
	}
}
