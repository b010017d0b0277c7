package process

import (
	"crypto/rand"
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
		if inMemory, err = openMemory(o, wanted); inMemory || err != nil {
			return inMemory, err
		}
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

// openMemory continues with what an earlier agent had in memory. It removes the link where
// there is none: the machine was restarted since, the user is another, or the link was copied with
// the data_dir of an agent that has it still.
func openMemory(o Options, wanted bool) (inMemory bool, err error) {
	at, err := os.Readlink(o.Dir)
	if err != nil {
		return false, err
	}
	usable := isOwnDir(filepath.Dir(at)) && isOwnDir(at) && !isAnothers(at, o.Dir)
	if usable && (wanted || os.Remove(at) != nil) {
		return true, noteOwner(o.Dir, at) // it may have moved
	}
	return false, os.Remove(o.Dir)
}

// isOwnDir says whether what is below a path is up to this user alone: where all users may
// write, as in /dev/shm, another may have been there first.
func isOwnDir(p string) bool {
	var st unix.Stat_t
	return unix.Lstat(p, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR && int(st.Uid) == os.Geteuid() && st.Mode&0o022 == 0
}

// lockMemory makes the directory of all agents of the machine and excludes the others until
// unlock is called: none may remove what another is making. The error is of a directory that may
// not be used.
func lockMemory(at string) (unlock func(), err error) {
	if err := os.Mkdir(at, 0o711); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	if !isOwnDir(at) {
		return nil, fmt.Errorf("%s is not a directory in which this user alone may write; remove it", at)
	}
	f, err := os.OpenFile(at, unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX)
	for errors.Is(err, unix.EINTR) {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() { _ = f.Close() }, nil
}

// ownerSuffix ends the name of the link beside a directory in memory that says whose it is.
const ownerSuffix = ".owner"

// makeMemory makes a directory in memory for o.Dir, and first the note of whose it is. Its
// name does not follow from that of o.Dir: agents in containers may share the memory and
// have the same names for what they do not share.
func makeMemory(o Options) (at string, err error) {
	at = filepath.Join(o.Memory, rand.Text())
	return at, errors.Join(noteOwner(o.Dir, at), os.Mkdir(at, 0o711))
}

// noteOwner notes that what is in memory at a path is that of a directory.
func noteOwner(name, at string) error {
	owner, err := ownerOf(name)
	if err != nil {
		return err
	}
	if noted, err := os.Readlink(at + ownerSuffix); err == nil && noted == owner {
		return nil
	}
	return errors.Join(os.RemoveAll(at+ownerSuffix), os.Symlink(owner, at+ownerSuffix))
}

// isAnothers says whether another link of this machine's than the one of that name leads
// to what is in memory at a path.
func isAnothers(at, name string) bool {
	here, err := ownerOf("")
	if err != nil {
		return false
	}
	owner, _ := os.Readlink(at + ownerSuffix)
	other, isHere := strings.CutPrefix(owner, here)
	to, err := os.Readlink(other)
	if !isHere || err != nil || to != at {
		return false
	}
	theirs, err1 := os.Lstat(other)
	ours, err2 := os.Lstat(name)
	return err1 == nil && err2 == nil && !os.SameFile(theirs, ours)
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

// hasLiving says whether a task runs, or may.
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
