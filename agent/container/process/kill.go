package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/det-deploy/det-deploy/agent/container"
	"github.com/det-deploy/det-deploy/agent/container/inside"
	"github.com/det-deploy/det-deploy/internal/wait"
)

const (
	// killPatience is how long a shell may take to write the exit code of a killed program, before
	// the shell is killed too.
	killPatience = 5 * time.Second
	killInterval = 10 * time.Millisecond
)

// Signal sends SIGTERM to the process group, or kills all processes of the container.
func (r *Runtime) Signal(ctx context.Context, id string, sig container.Signal) error {
	d := r.containerDir(id)
	pid, err := d.awaitPID(ctx)
	if err != nil || pid == 0 {
		return err
	}
	if sig == container.Terminate {
		return d.terminateGroup(ctx, pid)
	}
	// A failure to write the file must not keep the task alive.
	noted := d.replaceFile("killed", "")
	if err := errors.Join(noted, d.killProcesses(ctx, pid)); err != nil {
		return fmt.Errorf("kill process %s: %w", id, err)
	}
	return nil
}

// terminateGroup sends SIGTERM to the process group. The wrapper is in the group and survives.
// Before it has started the program it would swallow the signal, so terminateGroup waits for the
// program.
func (d dir) terminateGroup(ctx context.Context, pid int) error {
	_, isolated := d.isolatedUser()
	for (isolated || d.hasBundle() || isShell(pid)) && !programRuns(d, pid) {
		alive, err := d.isAlive()
		if err != nil || !alive {
			return err
		}
		if err := wait.For(ctx, killInterval); err != nil {
			return err
		}
	}
	err := unix.Kill(-pid, unix.SIGTERM)
	if errors.Is(err, unix.ESRCH) {
		err = nil
	}
	return err
}

// isShell reports whether the first process of a task is a wrapper. The previous release started
// plain tasks without one.
func isShell(pid int) bool {
	args := bytes.Split(commandLine(pid), []byte{0})
	return len(args) > shellName && string(args[0]) == "/bin/sh" && string(args[1]) == "-c" && string(args[shellName]) == wrapperName
}

// shellName is the index of the argument with the shell's name ($0).
const shellName = 3

// programRuns reports whether the container has a process that is not a copy of the shell.
func programRuns(d dir, shell int) bool {
	own := commandLine(shell)
	for _, p := range listMembers(d, shell) {
		if line := commandLine(p); len(line) > 0 && !bytes.Equal(line, own) {
			return true
		}
	}
	return false
}

// commandLine returns the command line of a process, or nil if it has exited.
func commandLine(pid int) []byte {
	line, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	return line
}

// awaitPID returns the ID of the first process of a running task, or 0 without one. If the task has
// the lock but no ID yet, awaitPID waits for it.
func (d dir) awaitPID(ctx context.Context) (int, error) {
	for {
		alive, err := d.isAlive()
		if err != nil || !alive {
			return 0, err
		}
		pid, found, err := d.pid(ctx)
		if err != nil {
			return 0, err
		}
		if found && !d.ownsProcess(pid) {
			return 0, fmt.Errorf("process %d does not belong to the container: the status file was modified", pid)
		}
		if found {
			return pid, nil
		}
		if err := wait.For(ctx, killInterval); err != nil {
			return 0, err
		}
	}
}

// pid returns the ID of the first process, if it has been started.
func (d dir) pid(ctx context.Context) (pid int, found bool, err error) {
	if d.hasBundle() {
		return d.sandbox().firstProcess(ctx)
	}
	s, err := d.readStatus()
	return s.pid, s.started, err
}

// ownsProcess reports whether a process belongs to the container. Before isolation existed, a task
// with its own user could write its status file, and root must not signal an arbitrary process
// named there.
func (d dir) ownsProcess(pid int) bool {
	return os.Geteuid() != 0 || d.isOwn() || listMarked(pid, markVariable(d))
}

// killProcesses kills all processes of the container except the wrapper, repeatedly until the exit
// code is written, because a program may start others meanwhile.
func (d dir) killProcesses(ctx context.Context, pid int) error {
	if _, isolated := d.isolatedUser(); isolated || d.hasBundle() {
		return d.killInit(ctx, pid)
	}
	spared := isShell(pid)
	for deadline := time.Now().Add(killPatience); ; {
		alive, err := d.isAlive()
		if err != nil || !alive {
			return err
		}
		members := listMembers(d, pid)
		if !spared {
			members = append(members, pid)
		}
		inside.KillAll(members)
		if time.Now().After(deadline) {
			_ = unix.Kill(-pid, unix.SIGKILL)
		}
		if err := wait.For(ctx, killInterval); err != nil {
			return err
		}
	}
}

// killInit kills the first process of a task with a PID namespace. The kernel then kills all others
// and reports the exit of the first process after theirs.
func (d dir) killInit(ctx context.Context, pid int) error {
	f, err := inside.OpenProcess(pid)
	if errors.Is(err, unix.ESRCH) {
		return d.pollEnd(ctx)
	}
	if err != nil { // a kernel without pidfd_open
		_ = unix.Kill(pid, unix.SIGKILL)
		return d.pollEnd(ctx)
	}
	defer func() { _ = f.Close() }()
	if alive, err := d.isAlive(); err != nil || !alive {
		return err
	}
	if err := unix.PidfdSendSignal(int(f.Fd()), unix.SIGKILL, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return err
	}
	return inside.AwaitExit(ctx, f)
}

// awaitNobody waits until a user has no processes, so that its ID can be reused.
func awaitNobody(ctx context.Context, uid int) error {
	for hasProcesses(uid) {
		if err := wait.For(ctx, killInterval); err != nil {
			return err
		}
	}
	return nil
}

// hasProcesses reports whether a user has running processes, such as those of a task whose agent
// and directory were removed manually.
//
// The kernel immediately reports a user without processes. On a machine with many processes,
// checking each of them would be most of the cost of starting a short task.
func hasProcesses(uid int) bool {
	if _, err := unix.Getpriority(unix.PRIO_USER, uid); errors.Is(err, unix.ESRCH) {
		return false
	}
	return slices.ContainsFunc(inside.ProcessIDs(), func(pid int) bool {
		var st unix.Stat_t
		if unix.Stat("/proc/"+strconv.Itoa(pid), &st) != nil || int(st.Uid) != uid {
			return false
		}
		_, runs := inside.ReadProcess(pid)
		return runs
	})
}

// sweepProcesses kills processes that a plain program left in its group. The group ID may have been
// reused by another process; the mark in the environment identifies them.
func (d dir) sweepProcesses(s status) {
	if !s.started || errors.Is(unix.Kill(-s.pid, 0), unix.ESRCH) {
		return
	}
	left := listMembers(d, 0)
	isIn := func(pid int) bool {
		p, runs := inside.ReadProcess(pid)
		return runs && p.Session == s.pid
	}
	if slices.ContainsFunc(left, isIn) { // the session still belongs to the task
		left = append(listMembers(d, s.pid), s.pid)
	}
	inside.KillAll(left)
}

// markKey is the environment variable that marks the processes of a container. Its value, the
// directory, is unique among the agents of a machine.
const markKey = "DET_DEPLOY_TASK_DIR"

// listMembers returns the processes of a container except the first one: its session, its
// descendants, and the processes with the container's directory in their environment.
func listMembers(d dir, first int) []int {
	table := inside.Processes()
	in := map[int]bool{}
	if first != 0 {
		in[first] = true
	}
	for grown := true; grown; {
		grown = false
		for _, p := range table {
			if !in[p.PID] && (in[p.Parent] || first != 0 && p.Session == first) {
				in[p.PID], grown = true, true
			}
		}
	}
	mark := markVariable(d)
	var out []int
	for _, p := range table {
		if p.PID != first && p.PID != os.Getpid() && (in[p.PID] || listMarked(p.PID, mark)) {
			out = append(out, p.PID)
		}
	}
	return out
}

// markVariable returns the variable as encoded in a process's environment.
func markVariable(d dir) []byte { return []byte(markKey + "=" + string(d) + "\x00") }

func listMarked(pid int, mark []byte) bool {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	return err == nil && (bytes.HasPrefix(env, mark) || bytes.Contains(env, append([]byte{0}, mark...)))
}
