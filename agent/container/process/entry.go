package process

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
)

// entry is what a program that enters a task shares with the task's first process. It is read from the
// kernel, because the agent keeps neither the variables nor the groups of a task on disk.
type entry struct {
	d dir
	// pid is the task's first process.
	pid      int
	uid, gid int
	groups   []uint32
	umask    *uint32
	env      []string
	workDir  string
}

// environMost is the maximum number of bytes of a task's variables. Linux allows 6 MiB.
const environMost = 8 << 20

// readEntry reads the process entry of a task's first process.
func (d dir) readEntry(pid int) (entry, error) {
	e := entry{d: d, pid: pid}
	at := "/proc/" + strconv.Itoa(pid)
	status, err := os.ReadFile(at + "/status")
	if err != nil {
		return e, err
	}
	if err := e.parseStatus(string(status)); err != nil {
		return e, fmt.Errorf("%s/status: %w", at, err)
	}
	environ, err := readBounded(at+"/environ", environMost)
	if err != nil {
		return e, err
	}
	for v := range bytes.SplitSeq(environ, []byte{0}) {
		if len(v) > 0 {
			e.env = append(e.env, string(v))
		}
	}
	if e.workDir, err = os.Readlink(at + "/cwd"); err != nil {
		return e, err
	}
	return e, e.check()
}

func readBounded(name string, most int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("%s has more than %d bytes", name, most)
	}
	return data, err
}

// check returns an error if the process may not be the task's. The status file of a task without
// isolation was written by a process of the task's user, which may have changed it, so that the
// process must have the task's mark. A program with the rights of another user has the mark of the
// user who started it, and that user's real ID.
func (e entry) check() error {
	if uid, isolated := e.d.isolatedUser(); isolated {
		if e.uid != uid || uid == 0 {
			return fmt.Errorf("process %d runs as user %d instead of %d", e.pid, e.uid, uid)
		}
		return nil
	}
	if !e.d.hasBundle() && !slices.Contains(e.env, markKey+"="+string(e.d)) {
		return fmt.Errorf("process %d does not belong to the task: the status file was modified", e.pid)
	}
	return nil
}

// parseStatus parses the real user and group, the supplementary groups and the umask.
func (e *entry) parseStatus(text string) error {
	fields := map[string][]string{}
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(line, ":")
		fields[key] = strings.Fields(value)
	}
	if len(fields["Uid"]) == 0 || len(fields["Gid"]) == 0 {
		return errors.New("it has no user")
	}
	var err1, err2 error
	e.uid, err1 = strconv.Atoi(fields["Uid"][0])
	e.gid, err2 = strconv.Atoi(fields["Gid"][0])
	errs := []error{err1, err2}
	for _, g := range fields["Groups"] {
		n, err := strconv.ParseUint(g, 10, 32)
		errs, e.groups = append(errs, err), append(e.groups, uint32(n))
	}
	if u := fields["Umask"]; len(u) > 0 {
		n, err := strconv.ParseUint(u[0], 8, 32)
		mask := uint32(n)
		errs, e.umask = append(errs, err), &mask
	}
	return errors.Join(errs...)
}

// filesRoot returns the directory of the paths of a task.
func (d dir) filesRoot() string {
	if at, lent := d.lentFiles(); lent {
		return at
	}
	return d.filePath("root")
}

// outside returns where the program of a task finds a path of its container: tasks without fixed paths
// have them below another directory.
func (d dir) outside(p string) string {
	if d.hasBundle() || !path.IsAbs(p) {
		return p
	}
	root, err := os.OpenRoot(d.filesRoot())
	if err != nil {
		return p
	}
	defer func() { _ = root.Close() }()
	if _, err := root.Lstat(relPath(p)); err != nil || path.Clean(p) == "/" {
		return p
	}
	return d.filesRoot() + path.Clean(p)
}
