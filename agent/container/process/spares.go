package process

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/det-deploy/det-deploy/agent/container"
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
// namespace to another; or in a copy of it, where it still has the task's mounts: see look.
type spares struct {
	dir string // empty for one that keeps none

	// mu guards what follows.
	mu   sync.Mutex
	made int
	free []dir
	// spaces are the numbers of the mount namespaces of tasks, by their directories.
	spaces map[dir]uint64
	// waiting are directories whose namespaces may still be there, and gone those whose are
	// not, of which copies may be.
	waiting map[uint64]dir
	gone    []dir
}

// lookFor is for how many directories, at least, the machine's processes are looked at.
const lookFor = 4

// openSpares removes those of the agent before: whether their tasks are gone is not known.
func openSpares(below string) (*spares, error) {
	s := &spares{dir: below, spaces: map[dir]uint64{}, waiting: map[uint64]dir{}}
	if below == "" {
		return s, nil
	}
	return s, os.RemoveAll(below)
}

// take puts a spare directory at d, which is not there, if there is one. It has nothing that
// a new one would not have.
func (s *spares) take(d dir, spec container.Spec) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.look()
	for i := len(s.free) - 1; i >= 0; i-- {
		spare := s.free[i]
		// A process that is being made for another task may hold the lock for a moment.
		if locked, err := spare.isAlive(); err != nil || locked {
			continue
		}
		s.free = slices.Delete(s.free, i, i+1)
		// Again: a process that was left may have written until it ended.
		err := errors.Join(spare.empty(), spare.checkUnused(), spare.removeUnordered(spec))
		if err == nil && os.Rename(string(spare), string(d)) == nil {
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
		s.gone = append(s.gone, spare)
	}
}

// look frees the directories that no mount namespace has a mount of.
func (s *spares) look() {
	if len(s.free) > 0 || len(s.gone) < lookFor {
		return
	}
	tables, err := mountTables()
	for _, spare := range s.gone {
		// As it stands there, whatever file system it is on.
		if err != nil || strings.Contains(tables, "/"+filepath.Base(s.dir)+"/"+filepath.Base(string(spare))+"/") {
			_ = os.RemoveAll(string(spare)) // the next agent tries again
			continue
		}
		s.free = append(s.free, spare)
	}
	s.gone = nil
}

// put takes the directory of a task that has ended, and says whether it did.
func (s *spares) put(d dir) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	space, found := s.spaces[d]
	delete(s.spaces, d)
	if s.dir == "" || !found || len(s.free)+len(s.gone)+len(s.waiting) >= sparesMost || s.waiting[space] != "" || d.empty() != nil {
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
