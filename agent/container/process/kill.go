package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/det-deploy/det-deploy/agent/container"
	"github.com/det-deploy/det-deploy/internal/wait"
)

const (
	// killPatience is how long a shell gets to write the code of a program
	// that was killed, before it is killed as well.
	killPatience = 5 * time.Second
	killInterval = 10 * time.Millisecond
)

// Signal asks the group to end, or ends everything it can find.
func (r *Runtime) Signal(ctx context.Context, id string, sig container.Signal) error {
	d := r.containerDir(id)
	pid, err := d.awaitPID(ctx)
	if err != nil || pid == 0 {
		return err
	}
	if sig == container.Terminate {
		return d.terminateGroup(ctx, pid)
	}
	// What keeps the note from being written must not keep the task alive.
	noted := d.replaceFile("killed", "")
	if err := errors.Join(noted, d.killProcesses(ctx, pid)); err != nil {
		return fmt.Errorf("kill process %s: %w", id, err)
	}
	return nil
}

// terminateGroup sends SIGTERM to the process group. The wrapper is part of it and survives; one
// that has not started the program yet would swallow the signal, so the program is waited for.
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

// isShell reports whether the first process of a task is a wrapper. The last release started
// plain tasks without one.
func isShell(pid int) bool {
	args := bytes.Split(commandLine(pid), []byte{0})
	return len(args) > shellName && string(args[0]) == "/bin/sh" && string(args[1]) == "-c" && string(args[shellName]) == wrapperName
}

// shellName is the argument that is a shell's name for itself.
const shellName = 3

// programRuns looks for a process of the container that is no copy of the
// shell.
func programRuns(d dir, shell int) bool {
	own := commandLine(shell)
	for _, p := range listMembers(d, shell) {
		if line := commandLine(p); len(line) > 0 && !bytes.Equal(line, own) {
			return true
		}
	}
	return false
}

// commandLine is empty for a process that is gone.
func commandLine(pid int) []byte {
	line, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	return line
}

// awaitPID returns the id of the first process of a living task, and 0 without one. One that
// has the lock and has no id yet is about to have it.
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
			return 0, fmt.Errorf("process %d does not belong to the container: its status file was changed", pid)
		}
		if found {
			return pid, nil
		}
		if err := wait.For(ctx, killInterval); err != nil {
			return 0, err
		}
	}
}

// pid is the id of the first process, if that has been started.
func (d dir) pid(ctx context.Context) (pid int, found bool, err error) {
	if d.hasBundle() {
		return d.sandbox().firstProcess(ctx)
	}
	s, err := d.readStatus()
	return s.pid, s.started, err
}

// ownsProcess reports whether a process is the container's. Before there was isolation, the
// status file of a task with a user of its own was within this user's reach, and
// root must not signal whatever it names.
func (d dir) ownsProcess(pid int) bool {
	return os.Geteuid() != 0 || d.isOwn() || listMarked(pid, markVariable(d))
}

// killProcesses kills every process of the container but the wrapper, again and again
// until the code is written: a program may be starting others meanwhile.
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
		killAll(members)
		if time.Now().After(deadline) {
			_ = unix.Kill(-pid, unix.SIGKILL)
		}
		if err := wait.For(ctx, killInterval); err != nil {
			return err
		}
	}
}

// killInit kills the first process of a task with processes of its own. The kernel ends all
// others, and it is not gone before they are.
func (d dir) killInit(ctx context.Context, pid int) error {
	f, err := openProcess(pid)
	if errors.Is(err, unix.ESRCH) {
		return d.pollEnd(ctx)
	}
	if err != nil { // a kernel without the call
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
	return awaitReadable(ctx, f)
}

// awaitNobody waits until no process of a user is left, which then may be another
// task's.
func awaitNobody(ctx context.Context, uid int) error {
	for hasProcesses(uid) {
		if err := wait.For(ctx, killInterval); err != nil {
			return err
		}
	}
	return nil
}

// hasProcesses says whether processes of a user run: those of a task whose agent and
// directory were removed by hand may outlive its claim.
//
// Who has none, the kernel says at once; on a machine with many processes, looking at each of them
// would be most of what the start of a short task takes.
func hasProcesses(uid int) bool {
	if _, err := unix.Getpriority(unix.PRIO_USER, uid); errors.Is(err, unix.ESRCH) {
		return false
	}
	return slices.ContainsFunc(listProcesses(), func(pid int) bool {
		var st unix.Stat_t
		if unix.Stat("/proc/"+strconv.Itoa(pid), &st) != nil || int(st.Uid) != uid {
			return false
		}
		_, runs := readProcess(pid)
		return runs
	})
}

// killAll stops all of them before it kills the first, so that none sees another
// die, says so, or starts the next. Errors mean that one is gone already.
func killAll(pids []int) {
	for _, sig := range []unix.Signal{unix.SIGSTOP, unix.SIGKILL} {
		for _, p := range pids {
			_ = unix.Kill(p, sig)
		}
	}
}

// sweepProcesses kills what a plain program left behind in its group. Its id may be another
// process's by now; the mark in the environment tells.
func (d dir) sweepProcesses(s status) {
	if !s.started || errors.Is(unix.Kill(-s.pid, 0), unix.ESRCH) {
		return
	}
	left := listMembers(d, 0)
	isIn := func(pid int) bool {
		p, runs := readProcess(pid)
		return runs && p.session == s.pid
	}
	if slices.ContainsFunc(left, isIn) { // the session is the task's still
		left = append(listMembers(d, s.pid), s.pid)
	}
	killAll(left)
}

// markKey is the variable by which the processes of a container are known: a
// directory is one container's of one agent, on a machine of many.
const markKey = "DET_DEPLOY_TASK_DIR"

// proc is one line of the process table.
type proc struct{ pid, parent, session int }

// listMembers are the processes of a container without its first: those of that one's
// session, its descendants, and those that carry the container's
// directory in their environment.
func listMembers(d dir, first int) []int {
	table := processTable()
	in := map[int]bool{}
	if first != 0 {
		in[first] = true
	}
	for grown := true; grown; {
		grown = false
		for _, p := range table {
			if !in[p.pid] && (in[p.parent] || first != 0 && p.session == first) {
				in[p.pid], grown = true, true
			}
		}
	}
	mark := markVariable(d)
	var out []int
	for _, p := range table {
		if p.pid != first && p.pid != os.Getpid() && (in[p.pid] || listMarked(p.pid, mark)) {
			out = append(out, p.pid)
		}
	}
	return out
}

// markVariable is the variable as it stands in a process's environment.
func markVariable(d dir) []byte { return []byte(markKey + "=" + string(d) + "\x00") }

func listMarked(pid int, mark []byte) bool {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	return err == nil && (bytes.HasPrefix(env, mark) || bytes.Contains(env, append([]byte{0}, mark...)))
}

func processTable() []proc {
	var out []proc
	for _, pid := range listProcesses() {
		if p, ok := readProcess(pid); ok {
			out = append(out, p)
		}
	}
	return out
}

// listProcesses is the numbers of all processes, those included that have ended and are still listed.
func listProcesses() []int {
	f, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	names, err := f.Readdirnames(-1)
	if err != nil {
		return nil
	}
	out := make([]int, 0, len(names))
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			out = append(out, pid)
		}
	}
	return out
}

// readProcess is a process that runs.
func readProcess(pid int) (proc, bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return proc{}, false
	}
	return parseStat(pid, string(stat))
}

// parseStat reads parent and session, which come after the name in brackets
// that may hold anything.
func parseStat(pid int, stat string) (proc, bool) {
	i := strings.LastIndexByte(stat, ')')
	if i < 0 {
		return proc{}, false
	}
	fields := strings.Fields(stat[i+1:])
	if len(fields) < 4 || fields[0] == "Z" {
		return proc{}, false
	}
	parent, err1 := strconv.Atoi(fields[1])
	session, err2 := strconv.Atoi(fields[3])
	return proc{pid: pid, parent: parent, session: session}, err1 == nil && err2 == nil
}
