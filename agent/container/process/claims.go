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

// claims are the users that this agent gives to its tasks.
type claims struct {
	Accounts

	// mu is held by who has the machine's lock or waits for it: that keeps a thread.
	mu sync.Mutex
}

// claimUID gives the task in d, which exists, a user ID of its own. The search starts
// where the last one ended, so that an ID is not reused at once.
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
	return 0, fmt.Errorf("all %d users of task_users are taken by tasks of this machine", size)
}

func writeAt(f *os.File, text string) error {
	_, err := f.WriteAt([]byte(text), 0)
	return err
}

// isFree says whether no task has this user: a claim ends with the task's directory,
// so that one of an agent that was killed while it removed a task is no claim.
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

// isGone says that a task's directory is not there any more.
func isGone(owner string) bool {
	_, err := os.Lstat(owner)
	return errors.Is(err, fs.ErrNotExist)
}

// releaseUID gives the user of a task back, when its directory is gone.
func (c *claims) releaseUID(uid int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	unlock, err := c.lockAccounts()
	if err != nil {
		return err
	}
	defer unlock()
	if !c.isFree(uid) { // another task has it already
		return nil
	}
	if err := os.Remove(c.ownerFile(uid)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
