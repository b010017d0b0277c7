package process

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/gofrs/flock"
)

// Accounts is a range of Unix user IDs without accounts: a task runs as one of
// them, and no other task of this machine gets that ID until everything the task left
// is removed. The group ID is the same number.
type Accounts struct {
	First, Last int
	// Dir says which task has which user, for all agents of the machine: a file
	// named like the user has the directory of its task in it. It is on disk, as
	// what tasks write is: that outlives the machine's memory until its agent removes it.
	Dir string
}

// containsUID says whether a user is one of them.
func (a Accounts) containsUID(uid int) bool { return uid >= a.First && uid <= a.Last }

// checkUID refuses a range that contains the ID of an existing account.
func (a Accounts) checkUID() error {
	for _, f := range []struct {
		path  string
		field int
		size  bool
	}{{"/etc/passwd", 2, false}, {"/etc/group", 2, false}, {"/etc/subuid", 1, true}, {"/etc/subgid", 1, true}} {
		line, err := a.takenLine(f.path, f.field, f.size)
		if err != nil {
			return err
		}
		if line != "" {
			return fmt.Errorf("users %d to %d are not free: %s has %q; set task_users to a range of unused user IDs", a.First, a.Last, f.path, line)
		}
	}
	return nil
}

// takenLine finds the first line of a file like /etc/passwd whose number is in the
// range; with size, the next field says how many numbers the line stands for.
func (a Accounts) takenLine(path string, field int, size bool) (string, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		fields := strings.Split(lines.Text(), ":")
		if len(fields) <= field+1 && size || len(fields) <= field {
			continue
		}
		first, err := strconv.Atoi(fields[field])
		if err != nil {
			continue
		}
		count := 1
		if size {
			if count, err = strconv.Atoi(fields[field+1]); err != nil {
				continue
			}
		}
		if first <= a.Last && first+count > a.First {
			return lines.Text(), nil
		}
	}
	return "", lines.Err()
}

// claimUID gives the task in d, which exists, a user ID of its own. The search starts
// where the last one ended, so that an ID is not reused at once.
func (a Accounts) claimUID(d dir) (uid int, err error) {
	unlock, err := a.lockAccounts()
	if err != nil {
		return 0, err
	}
	defer unlock()
	next := filepath.Join(a.Dir, "next")
	start := a.First
	if data, err := os.ReadFile(next); err == nil {
		if n, err := strconv.Atoi(string(data)); err == nil && a.containsUID(n) {
			start = n
		}
	}
	size := a.Last - a.First + 1
	for i := range size {
		uid := a.First + (start-a.First+i)%size
		if !a.isFree(uid) || hasProcesses(uid) {
			continue
		}
		if err := os.WriteFile(next, []byte(strconv.Itoa(a.First+(uid-a.First+1)%size)), 0o600); err != nil {
			return 0, err
		}
		return uid, os.WriteFile(a.ownerFile(uid), []byte(d), 0o600)
	}
	return 0, fmt.Errorf("all %d users of task_users are taken by tasks of this machine", size)
}

// isFree says whether no task has this user: a claim ends with the task's directory,
// so that one of an agent that was killed while it removed a task is no claim.
func (a Accounts) isFree(uid int) bool {
	owner, err := os.ReadFile(a.ownerFile(uid))
	if errors.Is(err, fs.ErrNotExist) {
		return true
	}
	if err != nil {
		return false
	}
	_, err = os.Lstat(string(owner))
	return errors.Is(err, fs.ErrNotExist)
}

// releaseUID gives the user of a task back, when its directory is gone.
func (a Accounts) releaseUID(uid int, d dir) error {
	unlock, err := a.lockAccounts()
	if err != nil {
		return err
	}
	defer unlock()
	owner, err := os.ReadFile(a.ownerFile(uid))
	if errors.Is(err, fs.ErrNotExist) || err == nil && string(owner) != string(d) {
		return nil // it is another task's already
	}
	if err != nil {
		return err
	}
	return os.Remove(a.ownerFile(uid))
}

func (a Accounts) ownerFile(uid int) string { return filepath.Join(a.Dir, strconv.Itoa(uid)) }

// lockAccounts excludes the machine's other agents until unlock is called.
func (a Accounts) lockAccounts() (unlock func(), err error) {
	if err := os.MkdirAll(a.Dir, 0o700); err != nil {
		return nil, err
	}
	l := flock.New(filepath.Join(a.Dir, "lock"), flock.SetPermissions(0o600))
	err = l.Lock()
	for errors.Is(err, syscall.EINTR) { // as on network file systems
		err = l.Lock()
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return func() { _ = l.Close() }, nil
}
