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

// machine is what a machine lets tasks have.
type machine struct {
	// notIsolated is why tasks are not isolated, or nil.
	notIsolated error
	// notPlaced is why the files of tasks are not at the paths that they should have, or
	// nil.
	notPlaced error
	// notLimited is why tasks have not all of the limits that were asked for, or nil.
	notLimited error
	// limits are those that tasks have.
	limits Limits
	// files is the limit of open files that this process was started with.
	files *specs.POSIXRlimit
}

// tryPatience bounds the start of a task that does nothing.
const tryPatience = 30 * time.Second

// NoRuncError is a machine without the program that isolates tasks.
type NoRuncError struct{}

func (NoRuncError) Error() string { return "runc is not installed on this machine" }

// Hint names the package.
func (NoRuncError) Hint() string {
	return "install it, as with apt-get install runc, and restart the agent"
}

// tryMachine finds out what tasks can have by starting one.
func (r *Runtime) tryMachine(ctx context.Context) (m machine) {
	m.limits, m.files = r.opts.Limits, inheritedFiles(ctx)
	m.notIsolated = r.opts.Accounts.check()
	if m.notIsolated != nil && os.Geteuid() == 0 {
		m.notPlaced = m.notIsolated // root's own tasks are plain
		m.limits, m.notLimited = Limits{}, unlimited(r.opts.Limits, m.notIsolated)
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
		m.limits, m.notLimited = Limits{}, unlimited(r.opts.Limits, m.notPlaced)
		if m.notIsolated == nil {
			m.notIsolated = m.notPlaced
		}
	}
	return m
}

func unlimited(asked Limits, why error) error {
	if asked == (Limits{}) {
		return nil
	}
	return why
}

// makeOwnDirs makes the directories of the machine at which all tasks see what is theirs, so that
// none needs a /run of its own. Those of an agent that is not root have one.
func makeOwnDirs() error {
	if os.Geteuid() != 0 {
		return nil
	}
	return errors.Join(os.MkdirAll(taskRoot, 0o755), os.MkdirAll(runDir, 0o755))
}

// tryLimits starts a task with the limits that were asked for, and one without if that fails.
func (r *Runtime) tryLimits(ctx context.Context, m *machine) error {
	ctx, cancel := context.WithTimeout(ctx, tryPatience)
	defer cancel()
	if os.Geteuid() != 0 && m.limits != (Limits{}) {
		m.limits, m.notLimited = Limits{}, errors.New("this agent is not root")
	}
	err := r.tryTask(ctx, *m)
	if err != nil && m.limits != (Limits{}) {
		limits := m.limits
		m.limits = Limits{}
		if r.tryTask(ctx, *m) == nil {
			m.notLimited = err
			return nil
		}
		m.limits = limits
	}
	if err != nil {
		return fmt.Errorf("runc does not start a task on this machine: %w", err)
	}
	return nil
}

// tryTask starts a task that looks at itself.
func (r *Runtime) tryTask(ctx context.Context, m machine) (err error) {
	d := dir(r.opts.Dir + "-try")
	remove := func() error {
		return errors.Join(d.sandbox().delete(context.WithoutCancel(ctx)), os.RemoveAll(string(d)))
	}
	if err := errors.Join(remove(), os.Mkdir(string(d), 0o700)); err != nil { // of an agent that was killed
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	spec := container.Spec{ID: "try", Command: []string{"/bin/sh", "-c", "test -r /proc/self/stat && exit 42"}}
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
		return fmt.Errorf("a task cannot see its own processes: %s", bytes.TrimSpace(said))
	}
	return err
}

// lastMessage is the last of the lines that runc logs as JSON.
func lastMessage(log []byte) string {
	text := ""
	for line := range bytes.Lines(log) {
		var entry struct {
			Level, Msg string
		}
		if json.Unmarshal(line, &entry) == nil && entry.Level == "error" {
			text = strings.TrimPrefix(entry.Msg, "runc run failed: ")
		}
	}
	return text
}

// inheritedFiles is the limit of open files that this process was started with, as its children
// have it; nil is what it has now. Go has raised its own, and runc raises it as well.
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
	return &specs.POSIXRlimit{Type: "RLIMIT_NOFILE", Soft: soft, Hard: now.Max}
}
