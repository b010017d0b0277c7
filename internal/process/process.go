// Package process identifies processes of this machine uniquely, so that a later run of the program
// never signals another process with a reused ID.
package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// Identity identifies a process uniquely, even if its ID is reused.
type Identity struct {
	PID int `json:"pid"`
	// Start is the start time of the process in the system's format. It differs for another process
	// with the same ID.
	Start string `json:"start"`
}

// Identify returns the identity of a running process.
func Identify(pid int) (Identity, error) {
	start, err := startOf(pid)
	if err != nil {
		return Identity{}, fmt.Errorf("inspect process %d: %w", pid, err)
	}
	return Identity{PID: pid, Start: start}, nil
}

// Alive reports whether the process is running. A zombie does not count.
func (id Identity) Alive() bool {
	if id.PID <= 0 || id.Start == "" {
		return false
	}
	start, err := startOf(id.PID)
	return err == nil && start == id.Start
}

// Signal sends sig to the process, and never to another one with its ID. It returns nil if the
// process has exited.
func (id Identity) Signal(sig syscall.Signal) error {
	if id.PID <= 0 {
		return nil
	}
	return SignalIf(id.PID, sig, func() (bool, error) { return id.Alive(), nil })
}

// SignalIf opens a process, so that its ID cannot be reused, and signals it if meant returns true.
// It returns nil if the process has exited.
func SignalIf(pid int, sig syscall.Signal, meant func() (bool, error)) error {
	p, err := os.FindProcess(pid) // holds a descriptor on systems that support it
	if err != nil {
		return fmt.Errorf("find process %d: %w", pid, err)
	}
	defer func() { _ = p.Release() }()
	if ok, err := meant(); err != nil || !ok {
		return err
	}
	if err := p.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("signal process %d: %w", pid, err)
	}
	return nil
}

var errEnded = errors.New("it has ended")

// startOf returns the start time of a process, from /proc if it exists.
func startOf(pid int) (string, error) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err == nil {
		return startIn(string(stat))
	}
	if _, procErr := os.Stat("/proc/self/stat"); procErr == nil {
		return "", err
	}
	out, err := exec.Command("ps", "-o", "stat=,lstart=", "-p", strconv.Itoa(pid)).Output() //nolint:noctx // exits immediately
	text := strings.TrimSpace(string(out))
	if err != nil || text == "" || text[0] == 'Z' {
		return "", errEnded
	}
	_, start, _ := strings.Cut(text, " ")
	return strings.TrimSpace(start), nil
}

// startIn parses the 22nd field of /proc/PID/stat, in clock ticks since boot. The second field is
// the program's name in parentheses, which may contain any character.
func startIn(stat string) (string, error) {
	i := strings.LastIndexByte(stat, ')')
	if i < 0 {
		return "", errEnded
	}
	fields := strings.Fields(stat[i+1:])
	if len(fields) < 20 || fields[0] == "Z" || fields[0] == "X" {
		return "", errEnded
	}
	return fields[19], nil
}

// KillGroup kills all processes of the process group that the process leads.
func (id Identity) KillGroup() error {
	if !id.Alive() {
		return nil
	}
	if err := syscall.Kill(-id.PID, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("kill process group %d: %w", id.PID, err)
	}
	return nil
}

// Reap waits for an exited child of this process, so that the system releases it. It does nothing
// for other processes.
func (id Identity) Reap() {
	if id.PID > 0 {
		_, _ = syscall.Wait4(id.PID, nil, syscall.WNOHANG, nil) // it is still running or not a child
	}
}
