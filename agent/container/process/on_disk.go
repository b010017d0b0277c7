package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// onDisk is what the containers of an agent have on disk while their directories are in
// memory: directories in which tasks write what they like, and their output. What has ended is
// used again, empty: a file system is slow at making files soon after it has removed others.
//
// Directories are those of tasks of the agent's own user, which are not isolated: another
// user could keep what it has open, and see in it the files of the next. A
// process that has left its task may still work in the directory. It is in the task's
// mount namespace, and so the directory waits until the kernel gives the number of that
// namespace to another; or in a copy of it, where it still has the task's mounts: see look.
type onDisk struct {
	dir string
	// begun tells this agent's names from those of earlier ones.
	begun string
	// lookFor is how many directories are looked for in the tables of mounts at once: to
	// read these is most of what it takes.
	lookFor int

	// mu guards what follows.
	mu      sync.Mutex
	made    int
	outputs []spareOutput
	free    []string
	// spaces are the numbers of mount namespaces with the directory of the last task that had
	// such a one, and tasks the other way round, until a namespace of that number is new.
	spaces map[uint64]space
	tasks  map[string]uint64
	// waiting are directories whose namespaces may still be there, and gone those whose are
	// not, of which copies may be; ended are those of gone ones that are still in use.
	waiting, ended map[string]bool
	gone           []string
	// emptied are directories in which nothing was for some time when they were last looked at.
	emptied map[string]stamps
}

func newOnDisk(at string) *onDisk {
	return &onDisk{
		dir: at, lookFor: 64, begun: strconv.FormatInt(time.Now().UnixNano(), 36), spaces: map[uint64]space{}, tasks: map[string]uint64{}, waiting: map[string]bool{}, ended: map[string]bool{}, emptied: map[string]stamps{},
	}
}

// sparesMost is how many directories, and how many pairs of files, wait for the next tasks.
const sparesMost = 192

// newName is a path that neither this agent nor one before it has used: what is being removed of
// a container may lead there still. The caller holds mu.
func (o *onDisk) newName(kind string) string {
	o.made++
	return filepath.Join(o.dir, kind+"-"+o.begun+"-"+strconv.Itoa(o.made))
}

// give leads a container to what it has on disk. Again says that its directory may have been
// another's.
func (o *onDisk) give(d dir, again bool) (g given, err error) {
	if o == nil {
		return g, nil
	}
	if err := o.checkRoom(); err != nil {
		return g, err
	}
	if g.files, g.modes, err = o.giveFiles(d, again); err != nil {
		return g, err
	}
	g.output, g.reads, err = o.giveOutput(d)
	return g, err
}

// close closes what waits for the next tasks.
func (o *onDisk) close() {
	if o == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, s := range o.outputs {
		s.reads.close()
	}
	o.outputs = nil
}

// checkRoom refuses a full disk: what is used again needs no room for a start, but the task
// will.
func (o *onDisk) checkRoom() error {
	var fs unix.Statfs_t
	if unix.Statfs(o.dir, &fs) == nil && (fs.Bfree == 0 || fs.Files > 0 && fs.Ffree == 0) {
		return fmt.Errorf("%s: %w", o.dir, unix.ENOSPC)
	}
	return nil // one that is not there yet is made
}

// giveFiles leads a container to a directory of its own, and says what it has if it was another's
// and nothing is in it.
func (o *onDisk) giveFiles(d dir, again bool) (at string, now stamps, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if again {
		at, now = o.takeFiles()
	}
	if at != "" {
		return at, now, os.Symlink(at, d.filePath(filesLink))
	}
	at = o.newName("files")
	if err := os.Symlink(at, d.filePath(filesLink)); err != nil {
		return "", now, err
	}
	err = os.Mkdir(at, 0o755)
	if errors.Is(err, fs.ErrNotExist) {
		err = errors.Join(os.MkdirAll(o.dir, 0o700), os.Mkdir(at, 0o755))
	}
	return at, now, err
}

// takeFiles is a directory in which nothing is that a new one would not have, if there is
// one; the caller holds mu.
func (o *onDisk) takeFiles() (at string, now stamps) {
	o.look()
	for last := len(o.free) - 1; last >= 0; last-- {
		at := o.free[last]
		o.free = o.free[:last]
		// Again: a process that was left may have written until it ended.
		now, err := o.emptied[at].empty(at, time.Now())
		if err == nil {
			o.emptied[at] = now
			return at, now
		}
		_ = o.drop(at) // the next agent tries again
	}
	return "", stamps{}
}

// space is what has a mount namespace, since when.
type space struct {
	dir  string
	made uint64
}

// begin notes the mount namespace in which a task has a directory, and when it was made: one with
// its number that was made before is gone. Two are told of in any order.
func (o *onDisk) begin(at string, number, made uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	now, other := space{at, made}, o.spaces[number]
	if other.made > made {
		now, other = other, now
	}
	if other.dir != "" {
		delete(o.tasks, other.dir)
		if o.waiting[other.dir] {
			delete(o.waiting, other.dir)
			o.gone = append(o.gone, other.dir)
		} else {
			o.ended[other.dir] = true
		}
	}
	o.spaces[number], o.tasks[now.dir] = now, number
}

// leave is for the directory of a task that has ended, and says whether it will be free.
func (o *onDisk) leave(at string, isEmpty bool) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	space, known := o.tasks[at]
	ended := o.ended[at]
	delete(o.ended, at)
	if (known || ended) && len(o.free)+len(o.gone)+len(o.waiting) < sparesMost && isEmpty {
		if ended {
			o.gone = append(o.gone, at)
		} else {
			o.waiting[at] = true
		}
		return true
	}
	if known {
		delete(o.tasks, at)
		delete(o.spaces, space)
	}
	delete(o.emptied, at)
	return false
}

// empty empties a directory, and says whether it could.
func (o *onDisk) empty(at string) bool {
	o.mu.Lock()
	before := o.emptied[at]
	o.mu.Unlock()
	// Without the lock: it takes as long as a task has made files.
	now, err := before.empty(at, time.Now())
	o.mu.Lock()
	defer o.mu.Unlock()
	o.emptied[at] = now
	return err == nil
}

// drop removes a directory for good; the caller holds mu.
func (o *onDisk) drop(at string) error {
	delete(o.emptied, at)
	return os.RemoveAll(at)
}

// look frees the directories that no mount namespace has a mount of; the caller holds mu.
func (o *onDisk) look() {
	if len(o.free) > 0 || len(o.gone) < o.lookFor {
		return
	}
	tables, err := mountTables()
	for _, at := range o.gone {
		// As it stands there, whatever file system it is on, and wherever that is mounted.
		name := "/" + filepath.Base(at)
		if err != nil || strings.Contains(tables, name+" ") || strings.Contains(tables, name+"/") {
			_ = o.drop(at) // the next agent tries again
			continue
		}
		o.free = append(o.free, at)
	}
	o.gone = nil
}

// removeFiles removes the directory of a container, or keeps it for another.
func (o *onDisk) removeFiles(d dir, at string) error {
	if at == "" {
		return nil
	}
	if o == nil { // it looks after the containers of an agent
		return os.RemoveAll(at)
	}
	if !o.empty(at) {
		_ = o.leave(at, false)
		return os.RemoveAll(at)
	}
	// First: a removal that is tried again must not find what is another's by then.
	err := unix.Unlink(d.filePath(filesLink))
	if errors.Is(err, unix.ENOENT) {
		return nil // it may be another's already; if not, the next agent sweeps it
	}
	if err != nil {
		return fmt.Errorf("remove %s: %w", d.filePath(filesLink), err)
	}
	if o.leave(at, true) {
		return nil
	}
	return os.RemoveAll(at)
}

// sweepFiles removes what no container leads to: it waited for another, or its directory in
// memory went with the machine.
func sweepFiles(o Options) error {
	all, err := os.ReadDir(o.Files)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list the files of containers: %w", err)
	}
	containers, err := os.ReadDir(o.Dir)
	if err != nil {
		return err
	}
	var used []string
	for _, c := range containers {
		d := dir(filepath.Join(o.Dir, c.Name()))
		for _, link := range []string{filesLink, outputLink} {
			if at, found := d.leadsTo(link); found {
				used = append(used, filepath.Base(at))
			}
		}
	}
	var errs []error
	for _, e := range all {
		name := strings.TrimSuffix(e.Name(), filepath.Ext(e.Name()))
		if !slices.Contains(used, name) {
			errs = append(errs, os.RemoveAll(filepath.Join(o.Files, e.Name())))
		}
	}
	return errors.Join(errs...)
}
