package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/det-deploy/det-deploy/agent/container"
)

// Of a directory that is kept, keptFiles stay, without content, and keptDirs, without
// anything else.
var (
	keptFiles = []string{
		"status", "stdout", "stderr",
		"root" + runDir + "/info/cluster.json", "root" + runDir + "/info/resources.json", "root" + runDir + "/info/rendezvous.json",
	}
	keptDirs = []string{
		".", "stage", "root", "root/run", "root" + runDir, "root" + runDir + "/workdir", "root" + runDir + "/info", "root" + runDir + "/pythonuserbase",
	}
)

// empty leaves what is kept of the directory of a task.
func (d dir) empty() error {
	for _, name := range keptDirs {
		if err := d.emptyDir(name); err != nil {
			return err
		}
	}
	for _, name := range keptFiles {
		if err := d.emptyFile(name); err != nil {
			return err
		}
	}
	return nil
}

// emptyDir removes from a directory what is not kept.
func (d dir) emptyDir(name string) error {
	f, err := os.OpenFile(d.filePath(name), unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	mode := uint32(0o755)
	if name == "." || name == "stage" {
		mode = 0o700
	}
	if err := restoreMode(f, unix.S_IFDIR|mode); err != nil {
		return err
	}
	entries, err := f.Readdirnames(-1)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if at := filepath.Join(name, entry); !slices.Contains(keptDirs, at) && !slices.Contains(keptFiles, at) {
			if err := os.RemoveAll(d.filePath(at)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d dir) emptyFile(name string) error {
	f, err := d.openFile(name, os.O_WRONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(restoreMode(f, unix.S_IFREG|0o600), f.Truncate(0), f.Close())
}

// checkUnused refuses a directory of which another process has a file open: a program
// outside of the task may have got the task's output.
func (d dir) checkUnused() error {
	for _, name := range keptFiles {
		f, err := d.openFile(name, os.O_WRONLY)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		// The kernel gives this to one who has the file alone, until it is closed.
		_, err = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_WRLCK)
		if err == nil {
			_, err = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_UNLCK)
		}
		if err := errors.Join(err, f.Close()); err != nil {
			return fmt.Errorf("%s may be in use: %w", d.filePath(name), err)
		}
	}
	return nil
}

// removeUnordered removes what was kept and a new directory would not have: an empty file
// where a task has none is read as damage.
func (d dir) removeUnordered(spec container.Spec) error {
	for _, name := range slices.Concat(keptFiles, keptDirs) {
		at, below := strings.CutPrefix(name, "root")
		leads := func(to string) bool { return isWithin(to, at) }
		isOrdered := func(f container.File) bool { return leads(path.Clean(f.Path)) }
		if !below || leads(runDir) || leads(path.Clean(workDir(spec))) || slices.ContainsFunc(spec.Files, isOrdered) {
			continue
		}
		if err := os.RemoveAll(d.filePath(name)); err != nil {
			return err
		}
	}
	return nil
}

// restoreMode gives a file or directory the mode with which it is made, as an order may have
// given it another. One that is not the agent's is refused.
func restoreMode(f *os.File, mode uint32) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return err
	}
	if int(st.Uid) != os.Geteuid() || int(st.Gid) != os.Getegid() {
		return fmt.Errorf("%s belongs to user %d", f.Name(), st.Uid)
	}
	if err := checkAttributes(f); err != nil || st.Mode == mode {
		return err
	}
	return unix.Fchmod(int(f.Fd()), mode&^unix.S_IFMT)
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
