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

// Accounts is a range of Unix user IDs without accounts. A task runs as one of them, and no other
// task of this machine gets that ID until all files of the task are deleted. The group ID is the
// same number.
type Accounts struct {
	First, Last int
	// Dir records the claims of all agents of the machine: a file named after the user ID contains
	// the directory of its task. It is on disk, because the files of tasks survive a reboot until
	// their agent deletes them.
	Dir string
}

// containsUID reports whether uid is in the range.
func (a Accounts) containsUID(uid int) bool { return uid >= a.First && uid <= a.Last }

// check returns the reason why tasks cannot have their own users, or nil.
func (a Accounts) check() error {
	if a.Last == 0 {
		return errors.New("task_users is empty")
	}
	if os.Geteuid() != 0 {
		return errors.New("this agent is not root")
	}
	return a.checkUID()
}

// checkUID returns an error if the range contains the ID of an existing account.
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

// takenLine returns the first line of a file like /etc/passwd whose number is in the range. With
// size, the next field is the size of the line's range.
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

// lockAccounts locks out the machine's other agents until unlock is called.
func (a Accounts) lockAccounts() (unlock func(), err error) {
	if err := os.MkdirAll(a.Dir, 0o700); err != nil {
		return nil, err
	}
	l := flock.New(filepath.Join(a.Dir, "lock"), flock.SetPermissions(0o600))
	err = l.Lock()
	for errors.Is(err, syscall.EINTR) { // occurs on network file systems
		err = l.Lock()
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return func() { _ = l.Close() }, nil
}
