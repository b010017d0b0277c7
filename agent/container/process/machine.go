package process

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"github.com/det-deploy/det-deploy/agent/container"
)

// machine describes the features that a machine supports for tasks.
type machine struct {
	// notIsolated is the reason why tasks are not isolated, or nil.
	notIsolated error
	// notPlaced is the reason why the files of tasks are not at fixed paths, or nil.
	notPlaced error
	// notLimited is the reason why tasks have no limits, or nil.
	notLimited error
	// files is the limit of open files with which this process was started.
	files *specs.POSIXRlimit
}

const (
	// tryPatience is the timeout of the test task.
	tryPatience = 30 * time.Second
	// tryMemory and tryProcesses are its limits, which it does not reach.
	tryMemory, tryProcesses = 1 << 30, 1 << 15
)

// NoRuncError is returned if runc is not installed.
type NoRuncError struct{}

func (NoRuncError) Error() string { return "runc is not installed on this machine" }

// Hint returns an example command that installs it.
func (NoRuncError) Hint() string {
	return "install runc, for example with `apt-get install runc`, and restart the agent"
}

// tryMachine detects the supported features by running a test task.
func (r *Runtime) tryMachine(ctx context.Context) (m machine) {
	m.files = inheritedFiles(ctx)
	m.notIsolated = r.opts.Accounts.check()
	if m.notIsolated != nil && os.Geteuid() == 0 {
		m.notPlaced, m.notLimited = m.notIsolated, m.notIsolated // root's tasks without isolation are plain processes
		return m
	}
	if _, err := exec.LookPath("runc"); err != nil {
		m.notPlaced = NoRuncError{}
	} else if err := makeOwnDirs(); err != nil {
		m.notPlaced = err
	} else {
		m.notPlaced = r.tryLimits(ctx, &m)
	}
	if m.notPlaced != nil {
		m.notLimited = m.notPlaced
		if m.notIsolated == nil {
			m.notIsolated = m.notPlaced
		}
	}
	return m
}

// makeOwnDirs creates the mount points of the tasks' private files on the machine, so that tasks do
// not need a private /run. Tasks of an agent that is not root have one.
func makeOwnDirs() error {
	if os.Geteuid() != 0 {
		return nil
	}
	return errors.Join(os.MkdirAll(taskRoot, 0o755), os.MkdirAll(runDir, 0o755))
}

// tryLimits runs a test task with limits, and without limits if that fails.
func (r *Runtime) tryLimits(ctx context.Context, m *machine) error {
	ctx, cancel := context.WithTimeout(ctx, tryPatience)
	defer cancel()
	if os.Geteuid() != 0 {
		m.notLimited = errors.New("this agent is not root")
	}
	err := r.tryTask(ctx, *m)
	if err != nil && m.notLimited == nil {
		m.notLimited = err
		if r.tryTask(ctx, *m) == nil {
			return nil
		}
	}
	if err != nil {
		return fmt.Errorf("runc cannot start tasks on this machine: %w", err)
	}
	return nil
}

// tryTask runs a task that reads its own process entry.
func (r *Runtime) tryTask(ctx context.Context, m machine) (err error) {
	d := dir(r.opts.Dir + "-try")
	remove := func() error {
		return errors.Join(d.sandbox().delete(context.WithoutCancel(ctx)), os.RemoveAll(string(d)))
	}
	if err := errors.Join(remove(), os.Mkdir(string(d), 0o700)); err != nil { // remains of an agent that was killed
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	spec := container.Spec{
		ID: "try", Command: []string{"/bin/sh", "-c", "test -r /proc/self/stat && exit 42"},
		Memory: tryMemory, Processes: tryProcesses,
	}
	who := ownAccount()
	if m.notIsolated == nil {
		who = account{User: container.User{UID: r.opts.Accounts.First, GID: r.opts.Accounts.First}}
	}
	files, err := r.prepareBundle(d, spec, who, m)
	if err == nil {
		err = d.sandbox().run(ctx, spec.ID, files)
	}
	files.close()
	if err != nil {
		return err
	}
	if err := d.pollEnd(ctx); err != nil {
		return err
	}
	s, err := d.readStatus()
	if err == nil && s.code != 42 {
		said, _ := d.readFile("stderr")
		return fmt.Errorf("the test task cannot read /proc: %s", bytes.TrimSpace(said))
	}
	return err
}

// loggedErrors returns the errors in a JSON log of runc. The stages of runc that are written in C log
// theirs as fatal, before the error that follows from them.
func loggedErrors(log []byte) []string {
	var out []string
	for line := range bytes.Lines(log) {
		var entry struct {
			Level, Msg string
		}
		if json.Unmarshal(line, &entry) == nil && (entry.Level == "error" || entry.Level == "fatal") {
			out = append(out, strings.TrimPrefix(entry.Msg, "runc run failed: "))
		}
	}
	return out
}

// leastFiles is the lowest limit of open files of a task: Linux's default. A shell fails with fewer
// than a dozen, which is the agent's lack of files and not the task's.
const leastFiles = 1024

// inheritedFiles returns the limit of open files with which this process was started, or nil to
// keep the current limit. Go raises its soft limit at startup, and so does runc.
func inheritedFiles(ctx context.Context) *specs.POSIXRlimit {
	out, err := exec.CommandContext(ctx, "/bin/sh", "-c", "ulimit -Sn").Output()
	if err != nil {
		return nil
	}
	var now unix.Rlimit
	soft, err := strconv.ParseUint(strings.TrimSpace(string(out)), 10, 64)
	if err != nil || unix.Getrlimit(unix.RLIMIT_NOFILE, &now) != nil {
		return nil
	}
	return filesLimit(soft, now.Max)
}

// filesLimit returns the limit of open files of a task, given those of the agent.
func filesLimit(soft, hard uint64) *specs.POSIXRlimit {
	return &specs.POSIXRlimit{Type: "RLIMIT_NOFILE", Soft: min(max(soft, leastFiles), hard), Hard: hard}
}
