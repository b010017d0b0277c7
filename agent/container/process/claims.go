package process

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
)

// claims allocates user IDs to the tasks of this agent.
type claims struct {
	Accounts

	// mu is held while waiting for or holding the machine's lock, which blocks a thread.
	mu sync.Mutex
}

// claimUID allocates a user ID to the task in the existing directory d. The search starts after the
// last allocated ID, so that an ID is not reused immediately.
func (c *claims) claimUID(d dir) (uid int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	unlock, err := c.lockAccounts()
	if err != nil {
		return 0, err
	}
	defer unlock()
	next, err := os.OpenFile(filepath.Join(c.Dir, "next"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return 0, err
	}
	defer func() { _ = next.Close() }()
	start := c.First
	if data, err := io.ReadAll(next); err == nil {
		if n, err := strconv.Atoi(string(data)); err == nil && c.containsUID(n) {
			start = n
		}
	}
	size := c.Last - c.First + 1
	for i := range size {
		uid := c.First + (start-c.First+i)%size
		if !c.isFree(uid) || hasProcesses(uid) {
			continue
		}
		text := strconv.Itoa(c.First + (uid-c.First+1)%size)
		if err := errors.Join(next.Truncate(0), writeAt(next, text)); err != nil {
			return 0, err
		}
		return uid, os.WriteFile(c.ownerFile(uid), []byte(d), 0o600)
	}
	return 0, fmt.Errorf("all %d user IDs of task_users are in use by tasks of this machine", size)
}

func writeAt(f *os.File, text string) error {
	_, err := f.WriteAt([]byte(text), 0)
	return err
}

// isFree reports whether a user ID is unclaimed. A claim ends when the task's directory is removed,
// so that a leftover of an agent that was killed during a removal does not count.
func (c *claims) isFree(uid int) bool {
	owner, err := os.ReadFile(c.ownerFile(uid))
	if errors.Is(err, fs.ErrNotExist) {
		return true
	}
	if err != nil {
		return false
	}
	return isGone(string(owner))
}

// isGone reports whether a task's directory no longer exists.
func isGone(owner string) bool {
	_, err := os.Lstat(owner)
	return errors.Is(err, fs.ErrNotExist)
}

// releaseUID releases the user ID of a task whose directory is removed.
func (c *claims) releaseUID(uid int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	unlock, err := c.lockAccounts()
	if err != nil {
		return err
	}
	defer unlock()
	if !c.isFree(uid) { // already claimed by another task
		return nil
	}
	if err := os.Remove(c.ownerFile(uid)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
