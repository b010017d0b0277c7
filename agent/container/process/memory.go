package process

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// MemoryDir is the first of the machine's directories in memory that tasks of root's can
// have files in, and empty where there is none. What another user has there may vanish
// when that user logs out.
func MemoryDir() string {
	if os.Geteuid() != 0 {
		return ""
	}
	for _, p := range []string{"/run", "/dev/shm"} {
		var fs unix.Statfs_t
		// A task's files may be programs.
		if unix.Statfs(p, &fs) == nil && fs.Type == unix.TMPFS_MAGIC && fs.Flags&(unix.ST_NOEXEC|unix.ST_RDONLY) == 0 {
			return filepath.Join(p, "det-deploy-tasks")
		}
	}
	return ""
}

// useMemory has o.Dir be a link to a directory in memory, where that is wanted, and says
// whether it is one. A directory with tasks of a version that knew no such link stays.
func useMemory(o Options, wanted bool) (inMemory bool, err error) {
	info, err := os.Lstat(o.Dir)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return false, err
	case err == nil && info.Mode()&fs.ModeSymlink != 0:
		return openMemory(o, wanted)
	case err == nil && wanted && os.Remove(o.Dir) != nil:
		wanted = false
	}
	if !wanted {
		// Others may pass, not look: a task may run as another user.
		return false, os.MkdirAll(o.Dir, 0o711)
	}
	at, err := makeMemory(o)
	if err != nil {
		return false, err
	}
	return true, os.Symlink(at, o.Dir)
}

// openMemory continues with a link of an earlier agent. The machine may have been restarted
// since then.
func openMemory(o Options, wanted bool) (inMemory bool, err error) {
	at, err := os.Readlink(o.Dir)
	if err != nil {
		return false, err
	}
	if !wanted && (os.Remove(at) == nil || errors.Is(err, fs.ErrNotExist)) {
		return false, errors.Join(os.Remove(o.Dir), os.Mkdir(o.Dir, 0o711))
	}
	return true, os.MkdirAll(at, 0o711)
}

// ownerSuffix ends the name of the link beside a directory in memory that says whose it is.
const ownerSuffix = ".owner"

// makeMemory makes the directory in memory of o.Dir, and first the note of whose it is.
func makeMemory(o Options) (at string, err error) {
	sum := sha256.Sum256([]byte(o.Dir))
	at = filepath.Join(o.Memory, hex.EncodeToString(sum[:8]))
	owner, err := ownerOf(o.Dir)
	if err != nil {
		return "", err
	}
	if err := errors.Join(os.MkdirAll(o.Memory, 0o711), os.RemoveAll(at+ownerSuffix), os.Symlink(owner, at+ownerSuffix)); err != nil {
		return "", err
	}
	return at, os.MkdirAll(at, 0o711)
}

// ownerOf names a directory together with the mount namespace in which it has this name.
func ownerOf(name string) (string, error) {
	space, err := os.Readlink("/proc/self/ns/mnt")
	return space + name, err
}

// sweepMemory removes what is in memory of agents whose data_dir is gone, unless tasks of
// theirs still run.
func sweepMemory(below string) error {
	marks, err := filepath.Glob(filepath.Join(below, "*"+ownerSuffix))
	if err != nil {
		return err
	}
	here, err := ownerOf("")
	if err != nil {
		return err
	}
	var errs []error
	for _, mark := range marks {
		at := strings.TrimSuffix(mark, ownerSuffix)
		owner, err := os.Readlink(mark)
		name, isHere := strings.CutPrefix(owner, here)
		if err != nil || !isHere || leadsTo(name, at) || hasLiving(at) {
			continue
		}
		errs = append(errs, os.RemoveAll(at), os.Remove(mark))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("remove what is in memory of agents that are gone: %w", err)
	}
	return nil
}

// leadsTo is true also where that cannot be seen.
func leadsTo(name, at string) bool {
	to, err := os.Readlink(name)
	return to == at || err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOTDIR)
}

// hasLiving says whether the shell of a task runs, or may.
func hasLiving(at string) bool {
	entries, err := os.ReadDir(at)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	for _, e := range entries {
		if alive, err := dir(filepath.Join(at, e.Name())).isAlive(); alive || err != nil {
			return true
		}
	}
	return false
}
