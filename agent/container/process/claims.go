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

// claims are the users that this agent gives to its tasks. The file of a user that is given back
// stays: its task's directory is gone, and so it is no claim. It becomes that of the next user: a
// file system is slow at making files soon after it has removed others.
type claims struct {
	Accounts

	// mu is held by who has the machine's lock or waits for it: that keeps a thread.
	mu     sync.Mutex
	former []formerClaim
}

// formerClaim is the file of a user that this agent has given back, and what is written there, unless it
// has been another's since.
type formerClaim struct {
	uid   int
	owner string
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
		// As long as any other, and so written over it: an emptied file goes to the medium at once.
		if _, err := next.WriteAt(fmt.Appendf(nil, "%010d", c.First+(uid-c.First+1)%size), 0); err != nil {
			return 0, err
		}
		return uid, c.writeOwner(uid, d)
	}
	return 0, fmt.Errorf("all %d users of task_users are taken by tasks of this machine", size)
}

// writeOwner notes whose a free user is, in the file of a former claim if there is one; the caller holds
// the machine's lock.
func (c *claims) writeOwner(uid int, d dir) error {
	name := c.ownerFile(uid)
	for last := len(c.former) - 1; last >= 0; last-- {
		f := c.former[last]
		c.former = c.former[:last]
		if c.isFormer(f) && os.Rename(c.ownerFile(f.uid), name) == nil {
			break
		}
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(string(d))
	if info, serr := f.Stat(); err == nil && serr == nil && info.Size() > int64(len(d)) {
		err = f.Truncate(int64(len(d)))
	}
	return errors.Join(err, f.Close())
}

// isFormer says whether a file is still what this agent has left.
func (c *claims) isFormer(f formerClaim) bool {
	owner, err := os.ReadFile(c.ownerFile(f.uid))
	return err == nil && string(owner) == f.owner && isGone(f.owner)
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
func (c *claims) releaseUID(uid int, d dir) error {
	f := formerClaim{uid, string(d)}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.former) < sparesMost {
		c.former = append(c.former, f)
		return nil
	}
	return c.removeClaims(f)
}

// removeClaims removes files of former claims; the caller holds mu.
func (c *claims) removeClaims(all ...formerClaim) error {
	if len(all) == 0 {
		return nil
	}
	unlock, err := c.lockAccounts()
	if err != nil {
		return err
	}
	defer unlock()
	var errs []error
	for _, f := range all {
		if c.isFormer(f) { // otherwise it is another task's already
			errs = append(errs, os.Remove(c.ownerFile(f.uid)))
		}
	}
	return errors.Join(errs...)
}

// close removes what waits for the next tasks.
func (c *claims) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.removeClaims(c.former...) // what stays is no claim
	c.former = nil
}
