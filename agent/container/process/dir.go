package process

import (
	"bytes"
	"errors"
	"fmt"
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
//	status  locked by the task's shell as long as it lives; its first line is
//	        the shell's process id, written before the program starts, its
//	        second the program's exit code, written when it has ended
//	killed  there when the agent has killed the container
//	ports   the ports of the task
//	stdout, stderr
//	root/   the container's paths, root/run/determined among them
//
// A line counts only with its newline, so that one cut short counts as not
// written. It is one file because making one is most of what a short task
// costs.
type dir string

func (d dir) file(name string) string { return filepath.Join(string(d), name) }
func (d dir) root() string            { return d.file("root") }

// phase follows from the lock and the lines:
//
//	code   lock   id
//	yes    –      –     Ended
//	no     held   –     Running
//	no     free   yes   Ended, without a code
//	no     free   no    Absent: the program was never started
func (d dir) phase() (container.Phase, error) {
	alive, err := d.alive()
	if err != nil {
		return "", err
	}
	s, err := d.status()
	switch {
	case err != nil:
		return "", err
	case s.ended:
		return container.Ended, nil
	case alive:
		return container.Running, nil
	case s.started:
		return container.Ended, nil
	default:
		return container.Absent, nil
	}
}

// alive says whether the task's shell holds its lock.
func (d dir) alive() (bool, error) {
	f, err := os.Open(d.file("status"))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer func() { _ = f.Close() }()
	// Shared, so that two who look at once do not take each other for it.
	err = unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return true, nil
	}
	return false, err
}

// status is what the shell wrote.
type status struct {
	started bool
	pid     int
	ended   bool
	code    int
}

func (d dir) status() (status, error) {
	data, err := os.ReadFile(d.file("status"))
	if errors.Is(err, fs.ErrNotExist) {
		return status{}, nil
	}
	if err != nil {
		return status{}, err
	}
	var s status
	if s.pid, s.started, err = firstNumber(&data); err == nil && s.started {
		s.code, s.ended, err = firstNumber(&data)
	}
	if err != nil {
		return status{}, fmt.Errorf("read %s: %w", d.file("status"), err)
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

// code is what the program left: its own, or 137 when the agent killed the
// shell along with it.
func (d dir) code() (int, error) {
	s, err := d.status()
	if err != nil {
		return 0, err
	}
	if s.ended {
		return s.code, nil
	}
	if _, err := os.Stat(d.file("killed")); err == nil {
		return 128 + int(unix.SIGKILL), nil
	}
	return 0, container.ErrGone
}

func (d dir) ports() ([]int, error) {
	data, err := os.ReadFile(d.file("ports"))
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
			return nil, fmt.Errorf("read %s: %w", d.file("ports"), err)
		}
		out = append(out, n)
	}
	return out, nil
}
