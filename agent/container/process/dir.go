package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/det-deploy/det-deploy/agent/container"
	"github.com/det-deploy/det-deploy/internal/wait"
)

// dir is the directory of one container:
//
//	status  locked while the task is running; its first line is the process ID of the wrapper in
//	        its PID namespace, written before the program starts; its second is the program's
//	        exit code, written when it has exited
//	killed  exists if the agent has killed the container
//	ports   the ports of the task
//	user    the Unix user of an isolated task
//	entered-*
//	        the programs that have entered the task: see visit
//	stdout, stderr
//	        the output
//	root/   the container's own paths, including root/run/determined; a link if they
//	        are elsewhere: see lendFiles
//
// If the task has a runc container (see bundle), it also contains:
//
//	config.json, state/, pid
//	        the runc configuration, runc's state, and the ID of the first process
//	view/   the machine's directories as seen by the task
//	tmp/    the task's /tmp
//
// Only root/ and tmp/ belong to the task. A line without a newline, such as a truncated one, counts
// as not written.
type dir string

func (d dir) filePath(name string) string { return filepath.Join(string(d), name) }

// isOwn reports whether the directory belongs to the agent's user.
func (d dir) isOwn() bool {
	var st unix.Stat_t
	return unix.Lstat(string(d), &st) == nil && int(st.Uid) == os.Geteuid()
}

// openFile opens a file of the directory.
func (d dir) openFile(name string, flag int) (*os.File, error) {
	return openOwn(d.filePath(name), flag)
}

// openOwn opens a file of the agent. It returns an error for links, pipes and files with several
// names, which a task may have planted: a link leads to another user's file, and a pipe blocks its
// reader.
func openOwn(name string, flag int) (*os.File, error) {
	f, err := os.OpenFile(name, flag|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	err = unix.Fstat(int(f.Fd()), &st)
	if err == nil && (st.Mode&unix.S_IFMT != unix.S_IFREG || st.Nlink > 1) {
		err = fmt.Errorf("open %s: not a file of the agent", name)
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

// replaceFile writes a file, replacing anything with its name.
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

// isolatedUser returns the user of an isolated task. It ignores the record in a directory that does
// not belong to the agent, because it cannot be trusted.
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

// readPhase derives the phase from the lock and the lines:
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

// settlePatience limits how long the first line of a held status file is waited for.
const settlePatience = 10 * time.Second

// settledPhase is readPhase, but waits for the first line while the lock is held. Without it the lock may be
// that of an earlier agent that was killed before it started the program, and is released in a moment.
func (d dir) settledPhase(ctx context.Context) (container.Phase, error) {
	for end := time.Now().Add(settlePatience); ; {
		s, alive, err := d.inspectStatus()
		if err != nil {
			return "", err
		}
		if !alive || s.started || d.hasBundle() || time.Now().After(end) {
			return d.phaseOf(s, alive), nil
		}
		if err := wait.For(ctx, killInterval); err != nil {
			return "", err
		}
	}
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

// inspectStatus combines isAlive and readStatus, but opens the file once.
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

// isAlive reports whether the status file is locked by the task's parent.
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
	// Use a shared lock, so that concurrent checks do not detect each other.
	err := unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return true, nil
	}
	// Unlock explicitly: a process that is being forked may have this file open until it executes,
	// and would keep the lock.
	return false, errors.Join(err, unix.Flock(int(f.Fd()), unix.LOCK_UN))
}

// status is the content of the status file, written by the task's parent.
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

// firstNumber parses and removes the first complete line of data.
func firstNumber(data *[]byte) (n int, found bool, err error) {
	line, rest, complete := bytes.Cut(*data, []byte{'\n'})
	if !complete {
		return 0, false, nil
	}
	*data = rest
	n, err = strconv.Atoi(string(line))
	return n, err == nil, err
}

// exitCode returns the program's exit code, or 137 if the agent killed it together with its parent.
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
