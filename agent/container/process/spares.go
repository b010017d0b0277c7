package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// sparesMost is how many directories wait for the next tasks.
const sparesMost = 128

// spares are directories of tasks that are gone, with the files and directories that
// every task has, empty: a file system is slow at making files soon after it has removed
// others. Only tasks of the agent's own user leave and get them: another's could keep
// what it has open, and see in it the files of the next.
//
// A process that has left its task may still work in the directory. It is in the task's
// mount namespace, and so the directory waits until the kernel gives the number of that
// namespace to another.
type spares struct {
	dir string

	// mu guards what follows.
	mu   sync.Mutex
	made int
	free []dir
	// spaces are the numbers of the mount namespaces of tasks, by their directories.
	spaces map[dir]uint64
	// waiting are directories whose namespaces may still be there.
	waiting map[uint64]dir
}

// openSpares removes those of the agent before: whether their tasks are gone is not known.
func openSpares(below string) (*spares, error) {
	return &spares{dir: below, spaces: map[dir]uint64{}, waiting: map[uint64]dir{}}, os.RemoveAll(below)
}

// take puts a spare directory at d, which is not there, if there is one.
func (s *spares) take(d dir) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := len(s.free) - 1; i >= 0; i-- {
		spare := s.free[i]
		// A process that is being made for another task may hold the lock for a moment.
		if locked, err := spare.isAlive(); err != nil || locked {
			continue
		}
		s.free = slices.Delete(s.free, i, i+1)
		// Again: a process that was left may have written until it ended.
		if spare.empty() == nil && os.Rename(string(spare), string(d)) == nil {
			return true
		}
		_ = os.RemoveAll(string(spare)) // the next agent tries again
	}
	return false
}

// begin notes the mount namespace that a task was started in. It is new: what had its
// number is gone.
func (s *spares) begin(d dir, space uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spaces[d] = space
	if spare, found := s.waiting[space]; found {
		delete(s.waiting, space)
		s.free = append(s.free, spare)
	}
}

// put takes the directory of a task that has ended, and says whether it did.
func (s *spares) put(d dir) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	space, found := s.spaces[d]
	delete(s.spaces, d)
	if !found || len(s.free)+len(s.waiting) >= sparesMost || s.waiting[space] != "" || d.empty() != nil {
		return false
	}
	s.made++
	spare := dir(filepath.Join(s.dir, "spare-"+strconv.Itoa(s.made)))
	err := os.Rename(string(d), string(spare))
	if errors.Is(err, fs.ErrNotExist) && os.Mkdir(s.dir, 0o700) == nil {
		err = os.Rename(string(d), string(spare))
	}
	if err != nil {
		return false
	}
	s.waiting[space] = spare
	return true
}

// Of a directory that is kept, keptFiles stay, without content, and keptDirs, without
// anything else.
var (
	keptFiles = []string{
		"status", "stdout", "stderr",
		"root" + runDir + "/info/cluster.json", "root" + runDir + "/info/resources.json", "root" + runDir + "/info/rendezvous.json",
	}
	keptDirs = []string{
		".", "stage", "root", "root/run", "root" + runDir, "root" + runDir + "/workdir", "root" + runDir + "/info", "root" + runDir + "/pythonuserbase",
	}
)

// empty leaves what is kept of the directory of a task.
func (d dir) empty() error {
	for _, name := range keptDirs {
		if err := d.emptyDir(name); err != nil {
			return err
		}
	}
	for _, name := range keptFiles {
		if err := d.emptyFile(name); err != nil {
			return err
		}
	}
	return nil
}

// emptyDir removes from a directory what is not kept.
func (d dir) emptyDir(name string) error {
	f, err := os.OpenFile(d.filePath(name), unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	mode := uint32(0o755)
	if name == "." || name == "stage" {
		mode = 0o700
	}
	if err := restoreMode(f, unix.S_IFDIR|mode); err != nil {
		return err
	}
	entries, err := f.Readdirnames(-1)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if at := filepath.Join(name, entry); !slices.Contains(keptDirs, at) && !slices.Contains(keptFiles, at) {
			if err := os.RemoveAll(d.filePath(at)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d dir) emptyFile(name string) error {
	f, err := d.openFile(name, os.O_WRONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(restoreMode(f, unix.S_IFREG|0o600), f.Truncate(0), f.Close())
}

// restoreMode gives a file or directory the mode with which it is made, as an order may have
// given it another. One that is not the agent's is refused.
func restoreMode(f *os.File, mode uint32) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return err
	}
	if int(st.Uid) != os.Geteuid() || int(st.Gid) != os.Getegid() {
		return fmt.Errorf("%s belongs to user %d", f.Name(), st.Uid)
	}
	if st.Mode == mode {
		return nil
	}
	return unix.Fchmod(int(f.Fd()), mode&^unix.S_IFMT)
}

// mountSpace is the number of this thread's mount namespace.
func mountSpace() (uint64, error) {
	var st unix.Stat_t
	err := unix.Stat(threadMounts, &st)
	return st.Ino, err
}
