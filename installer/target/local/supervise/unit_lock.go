package supervise

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// bootScript records its process ID and executes the program of a unit, which thereby has that ID.
const bootScript = `(umask 077 && echo $$ >"$0.tmp") && mv "$0.tmp" "$0" && exec "$@"`

// lockDescriptor is the descriptor of its unit's lock in a process: the first one after the standard
// streams.
const lockDescriptor = 3

// errStarting is returned for a process that has not recorded its ID yet.
var errStarting = errors.New("another process of the unit is being started")

func (d Dir) unitLock(name string) string { return filepath.Join(d.runDir(), name+".lock") }
func (d Dir) pidFile(name string) string  { return filepath.Join(d.runDir(), name+".pid") }

// lockUnit returns the lock that a new process of a unit inherits. If a process already holds it, which
// an earlier supervisor was killed too soon to store, lockUnit returns that process instead.
func (d Dir) lockUnit(name string) (lock *os.File, running Identity, err error) {
	lock, err = openLocked(d.unitLock(name))
	if errors.Is(err, syscall.EWOULDBLOCK) {
		if running, err = d.readHolder(name); err != nil || running != (Identity{}) {
			return nil, running, err
		}
		// Only children of a process that has ended have the lock.
		if err = removeFile(d.unitLock(name)); err == nil {
			lock, err = openLocked(d.unitLock(name))
		}
	}
	if err == nil {
		err = removeFile(d.pidFile(name))
	}
	if err != nil && lock != nil {
		return nil, running, errors.Join(err, lock.Close())
	}
	return lock, running, err
}

func openLocked(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// UnitHolder returns the running process that holds the lock of a unit, whether or not a supervisor has
// stored it.
func (d Dir) UnitHolder(name string) (Identity, bool) {
	id, err := d.readHolder(name)
	return id, err == nil && id.Alive()
}

// readHolder returns the process that has recorded its ID, or the zero Identity if that has ended.
func (d Dir) readHolder(name string) (Identity, error) {
	text, err := os.ReadFile(d.pidFile(name))
	if errors.Is(err, fs.ErrNotExist) {
		return Identity{}, errStarting
	}
	if err != nil {
		return Identity{}, err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return Identity{}, fmt.Errorf("read %s: %w", d.pidFile(name), err)
	}
	id, err := Identify(pid)
	if err != nil || !hasLock(pid, d.unitLock(name)) {
		return Identity{}, nil //nolint:nilerr // it has ended, and its ID may have been reused
	}
	return id, nil
}

// hasLock reports whether a process has the lock file open. It returns true on systems without /proc.
func hasLock(pid int, path string) bool {
	if _, err := os.Stat("/proc/self/fd"); err != nil {
		return true
	}
	have, err := os.Stat(fmt.Sprintf("/proc/%d/fd/%d", pid, lockDescriptor))
	if err != nil {
		return false
	}
	want, err := os.Stat(path)
	return err == nil && os.SameFile(have, want)
}
