package process

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/det-deploy/det-deploy/agent/container"
)

// dir is the directory of one container:
//
//	status  locked as long as the task lives; its first line is the id of the wrapper as
//	        that sees it, written before the program starts, its second the program's
//	        exit code, written when it has ended
//	killed  there when the agent has killed the container
//	ports   the ports of the task
//	user    the Unix user of an isolated task
//	stdout, stderr
//	        the output
//	root/   the container's own paths, root/run/determined among them; a link where they
//	        are elsewhere: see lendFiles
//
// and where the task has a container of runc's (see bundle):
//
//	config.json, state/, pid
//	        what runc is told, what it keeps, and the id of the first process
//	view/   the machine's directories as the task sees them
//	tmp/    what the task sees as /tmp
//
// Only root/ and tmp/ are the task's. A line counts only with its newline, so that one cut
// short counts as not written.
type dir string

func (d dir) filePath(name string) string { return filepath.Join(string(d), name) }

// isOwn says whether the directory is the agent's.
func (d dir) isOwn() bool {
	var st unix.Stat_t
	return unix.Lstat(string(d), &st) == nil && int(st.Uid) == os.Geteuid()
}

// openFile opens a file of the directory itself.
func (d dir) openFile(name string, flag int) (*os.File, error) {
	return openOwn(d.filePath(name), flag)
}

// openOwn opens a file of the agent's. Anything but a file of its own there was planted: a
// link leads to another user's file, and a pipe blocks its reader.
func openOwn(name string, flag int) (*os.File, error) {
	f, err := os.OpenFile(name, flag|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	err = unix.Fstat(int(f.Fd()), &st)
	if err == nil && (st.Mode&unix.S_IFMT != unix.S_IFREG || st.Nlink > 1) {
		err = fmt.Errorf("open %s: it is not the agent's own file", name)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func (d dir) readFile(name string) ([]byte, error) {
	f, err := d.openFile(name, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return io.ReadAll(f)
}

// replaceFile writes a file in place of anything that has its name.
func (d dir) replaceFile(name, text string) error {
	if err := os.RemoveAll(d.filePath(name)); err != nil {
		return err
	}
	f, err := d.openFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// isolatedUser says whether the task has namespaces, and which user it runs as. A
// directory that is not the agent's own may say anything.
func (d dir) isolatedUser() (uid int, isolated bool) {
	if !d.isOwn() {
		return 0, false
	}
	data, err := d.readFile("user")
	if err != nil {
		return 0, false
	}
	uid, isolated, err = firstNumber(&data)
	return uid, isolated && err == nil
}

// readPhase follows from the lock and the lines:
//
//	code   lock   id
//	yes    –      –     Ended
//	no     held   –     Running
//	no     free   yes   Ended, without a code
//	no     free   no    Ended if the agent killed it, and otherwise Absent: the
//	                    program was never started
func (d dir) readPhase() (container.Phase, error) {
	s, alive, err := d.inspectStatus()
	if err != nil {
		return "", err
	}
	return d.phaseOf(s, alive), nil
}

func (d dir) phaseOf(s status, alive bool) container.Phase {
	switch {
	case s.ended:
		return container.Ended
	case alive:
		return container.Running
	case s.started, d.isKilled():
		return container.Ended
	default:
		return container.Absent
	}
}

// inspectStatus is isAlive and then readStatus, with the file opened once.
func (d dir) inspectStatus() (s status, alive bool, err error) {
	f, err := d.openFile("status", os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return s, false, nil
	}
	if err != nil {
		return s, false, err
	}
	defer func() { _ = f.Close() }()
	if alive, err = isLocked(f); err != nil {
		return s, alive, err
	}
	data, err := io.ReadAll(io.LimitReader(f, statusRoom))
	if err != nil {
		return s, alive, err
	}
	s, err = parseStatus(d, data)
	return s, alive, err
}

// isAlive says whether the task's parent holds its lock.
func (d dir) isAlive() (bool, error) {
	f, err := d.openFile("status", os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer func() { _ = f.Close() }()
	return isLocked(f)
}

func isLocked(f *os.File) (bool, error) {
	// Shared, so that two who look at once do not take each other for it.
	err := unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return true, nil
	}
	// A process that is being made right now may have this file open until its program
	// starts, and would keep the lock of a directory that a task gets.
	return false, errors.Join(err, unix.Flock(int(f.Fd()), unix.LOCK_UN))
}

// status is what the task's parent wrote.
type status struct {
	started bool
	pid     int
	ended   bool
	code    int
}

func (d dir) readStatus() (status, error) {
	data, err := d.readFile("status")
	if errors.Is(err, fs.ErrNotExist) {
		return status{}, nil
	}
	if err != nil {
		return status{}, err
	}
	return parseStatus(d, data)
}

func parseStatus(d dir, data []byte) (s status, err error) {
	if s.pid, s.started, err = firstNumber(&data); err == nil && s.started {
		s.code, s.ended, err = firstNumber(&data)
	}
	if err != nil {
		return status{}, fmt.Errorf("read %s: %w", d.filePath("status"), err)
	}
	return s, nil
}

// firstNumber takes one complete line off data.
func firstNumber(data *[]byte) (n int, found bool, err error) {
	line, rest, complete := bytes.Cut(*data, []byte{'\n'})
	if !complete {
		return 0, false, nil
	}
	*data = rest
	n, err = strconv.Atoi(string(line))
	return n, err == nil, err
}

// exitCode is what the program left: its own, or 137 when the agent killed its
// parent along with it.
func (d dir) exitCode(s status) (int, error) {
	if s.ended {
		return s.code, nil
	}
	if d.isKilled() {
		return 128 + int(unix.SIGKILL), nil
	}
	return 0, container.ErrGone
}

func (d dir) isKilled() bool {
	_, err := os.Lstat(d.filePath("killed"))
	return err == nil
}

func (d dir) readPorts() ([]int, error) {
	data, err := d.readFile("ports")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []int
	for field := range strings.FieldsSeq(string(data)) {
		n, err := strconv.Atoi(field)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", d.filePath("ports"), err)
		}
		out = append(out, n)
	}
	return out, nil
}
