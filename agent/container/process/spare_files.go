package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// keptDirs are those of a directory on disk that stay for the next task, without content.
var keptDirs = [...]string{infoName, "workdir", "pythonuserbase"}

const infoName = "info"

// emptyFiles leaves what is kept of a directory.
func emptyFiles(at string) error {
	if err := emptyDir(at, keptDirs[:]); err != nil {
		return err
	}
	for _, name := range keptDirs {
		if err := emptyDir(filepath.Join(at, name), nil); err != nil {
			return err
		}
	}
	return nil
}

// emptyDir removes from a directory what is not kept. One that is not there is no error.
func emptyDir(at string, kept []string) error {
	f, err := os.OpenFile(at, unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	if err := checkOwn(f); err != nil {
		return err
	}
	entries, err := f.Readdirnames(-1)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if slices.Contains(kept, entry) {
			continue
		}
		if err := os.RemoveAll(filepath.Join(at, entry)); err != nil {
			return err
		}
	}
	return nil
}

// checkOwn refuses a directory that is not the agent's, or is more than its mode says.
func checkOwn(f *os.File) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return err
	}
	if int(st.Uid) != os.Geteuid() || int(st.Gid) != os.Getegid() {
		return fmt.Errorf("%s belongs to user %d", f.Name(), st.Uid)
	}
	return checkAttributes(f)
}

// checkAttributes refuses a file with attributes that a task has given it, lists of access
// among them.
func checkAttributes(f *os.File) error {
	var names [1 << 10]byte
	n, err := unix.Flistxattr(int(f.Fd()), names[:])
	if errors.Is(err, unix.EOPNOTSUPP) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list the attributes of %s: %w", f.Name(), err)
	}
	for name := range strings.SplitSeq(string(names[:n]), "\x00") {
		if name != "" && !strings.HasPrefix(name, "security.") {
			return fmt.Errorf("%s has the attribute %s", f.Name(), name)
		}
	}
	return nil
}
