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

// check returns why tasks cannot have users of their own, or nil.
func (a Accounts) check() error {
	if a.Last == 0 {
		return errors.New("task_users is empty")
	}
	if os.Geteuid() != 0 {
		return errors.New("this agent is not root")
	}
	return a.checkUID()
}

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
