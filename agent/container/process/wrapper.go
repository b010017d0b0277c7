package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// wrapper runs a program and records its exit code. It has the status file open as descriptor 3,
// and thereby its lock; the program has neither. It ignores the signals that ask the program to
// stop, and discards its own messages. It runs as the task's user, and a task that interferes with
// it only harms itself: see dir.readPhase for missing lines.
const wrapper = `trap : HUP INT QUIT TERM
exec 4>&2 2>/dev/null
echo "$$" >&3 || exit 125
(exec "$@" 2>&4 3>&- 4>&-)
echo "$?" >&3`

// wrapped returns the command that runs a program in the wrapper.
func wrapped(command []string) []string {
	return append([]string{"/bin/sh", "-c", wrapper, wrapperName}, command...)
}

// wrapperName is the name ($0) of the wrapper in its command line.
const wrapperName = "det-deploy-task"

// taskFiles are the open files of the wrapper.
type taskFiles struct{ status, stdout, stderr *os.File }

// openFiles creates and locks the files of a task.
func (d dir) openFiles() (f taskFiles, err error) {
	defer func() {
		if err != nil {
			f.close()
		}
	}()
	if f.status, err = d.openFile("status", os.O_CREATE|os.O_RDWR|os.O_APPEND); err != nil {
		return f, err
	}
	err = unix.Flock(int(f.status.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) { // the same number as EAGAIN, which is a lack of processes
		return f, errors.New("lock the container: another process holds the lock")
	}
	if err != nil {
		return f, fmt.Errorf("lock the container: %w", err)
	}
	// Reserve space, because on a full disk the exit of the task would be lost. It is no error if
	// the file system does not support that.
	err = unix.Fallocate(int(f.status.Fd()), unix.FALLOC_FL_KEEP_SIZE, 0, statusRoom)
	if err != nil && !errors.Is(err, unix.EOPNOTSUPP) && !errors.Is(err, unix.ENOSYS) {
		return f, fmt.Errorf("reserve space for the status file: %w", err)
	}
	if f.stdout, err = d.openFile("stdout", logFlags); err != nil {
		return f, err
	}
	f.stderr, err = d.openFile("stderr", logFlags)
	return f, err
}

// chown gives the output files to a user, who can only open them through /dev/stdout and
// /dev/stderr.
func (f taskFiles) chown(uid, gid int) error {
	return errors.Join(f.stdout.Chown(uid, gid), f.stderr.Chown(uid, gid))
}

func (f taskFiles) close() {
	for _, f := range []*os.File{f.status, f.stdout, f.stderr} {
		if f != nil {
			_ = f.Close()
		}
	}
}

const (
	// statusRoom is the size of both lines of the status file, in bytes.
	statusRoom = 64
	logFlags   = os.O_CREATE | os.O_WRONLY | os.O_APPEND
)

// startWrapped starts a program as a process of the machine, in a new session.
func startWrapped(cmd *exec.Cmd, f taskFiles) error {
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = f.stdout, f.stderr, []*os.File{f.status}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setsid = true
	if err := cmd.Start(); err != nil {
		return err
	}
	// The exit is detected through the lock, as for tasks of an earlier agent.
	go func() { _ = cmd.Wait() }()
	return nil
}
