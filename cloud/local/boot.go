package local

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/det-deploy/det-deploy/internal/process"
)

// The shell scripts of a machine. bootScript records its process ID, sleeps for the boot delay and
// runs the agent. sweepScript removes the remains of tasks, and then the data.
const (
	bootScript  = `echo $$ >"$0.tmp" && mv "$0.tmp" "$0" && sleep "$1" && shift && exec "$@"`
	sweepScript = `"$1" agent sweep --config-file "$2" && rm -rf "$0" "$3"`
)

// startMachine starts a machine in its own session, unless an earlier master started it and was
// stopped before it could write the record. The machine inherits a lock from this process and holds
// it until it exits.
func (p *Instances) startMachine(place Place) (process.Identity, error) {
	lock, err := os.OpenFile(place.lockFile(), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return process.Identity{}, err
	}
	defer func() { _ = lock.Close() }() // the machine has inherited the lock
	err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return p.adoptProcess(place)
	}
	if err != nil {
		return process.Identity{}, err
	}
	delay := strconv.FormatFloat(p.cfg.StartDelay.Seconds(), 'f', 3, 64)
	return spawnShell(place, []*os.File{lock}, bootScript, place.pidFile(), delay,
		p.cfg.Program, "agent", "run", "--config-file", place.AgentYAML())
}

// adoptPatience is the time a machine may take after its start to write its process ID.
const adoptPatience = 2 * time.Second

// adoptProcess finds the process of a machine whose record lacks it.
func (p *Instances) adoptProcess(place Place) (process.Identity, error) {
	for end := time.Now().Add(adoptPatience); ; <-time.After(10 * time.Millisecond) {
		text, err := os.ReadFile(place.pidFile())
		if err == nil {
			pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
			if err != nil {
				return process.Identity{}, fmt.Errorf("read %s: %w", place.pidFile(), err)
			}
			return process.Identify(pid)
		}
		if time.Now().After(end) {
			return process.Identity{}, fmt.Errorf("find the process of machine %s: %w", place.ID(), err)
		}
	}
}

// startSweep starts a process that removes the remains of a machine's tasks and its agent's data.
func startSweep(program string, place Place) (process.Identity, error) {
	return spawnShell(place, nil, sweepScript, place.Data(), program, place.AgentYAML(), place.Secret())
}

// spawnShell starts a shell script that outlives this process and writes to the machine's log.
func spawnShell(place Place, files []*os.File, script string, args ...string) (process.Identity, error) {
	log, err := os.OpenFile(place.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return process.Identity{}, err
	}
	defer func() { _ = log.Close() }()                                           // the child has its own descriptor
	c := exec.Command("/bin/sh", slices.Concat([]string{"-c", script}, args)...) //nolint:noctx // outlives every context; it is ended by signal
	c.Dir, c.Env = string(place), machineEnv()
	c.Stdout, c.Stderr, c.ExtraFiles = log, log, files
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := c.Start(); err != nil {
		return process.Identity{}, err
	}
	id, err := process.Identify(c.Process.Pid)
	if err != nil { // it has already exited, which is detected later
		id = process.Identity{PID: c.Process.Pid}
	}
	return id, c.Process.Release()
}

// machineEnv returns this process's environment without variables that override agent.yaml.
func machineEnv() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "DET_") })
}
