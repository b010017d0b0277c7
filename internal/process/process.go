// Package process tells one process of this machine from all others that ever
// had its number, so that a later run of the program signals that process and
// never one that reused its number.
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

// Identity tells one process from all others that ever had its number.
type Identity struct {
	PID int `json:"pid"`
	// Start is when the process started, in the words of the system. A number
	// that was given to another process has another start.
	Start string `json:"start"`
}

// Identify returns the identity of a living process.
func Identify(pid int) (Identity, error) {
	start, err := startOf(pid)
	if err != nil {
		return Identity{}, fmt.Errorf("look at process %d: %w", pid, err)
	}
	return Identity{PID: pid, Start: start}, nil
}

// Alive reports whether the very process still runs. One that has ended and
// waits for its parent does not.
func (id Identity) Alive() bool {
	if id.PID <= 0 || id.Start == "" {
		return false
	}
	start, err := startOf(id.PID)
	return err == nil && start == id.Start
}

// Signal sends sig to the very process, and never to another one that got its
// number. That it is gone is not an error.
func (id Identity) Signal(sig syscall.Signal) error {
	if id.PID <= 0 {
		return nil
	}
	return SignalIf(id.PID, sig, func() (bool, error) { return id.Alive(), nil })
}

// SignalIf signals a process that meant still recognises once it is held: then its
// number is no other's. That it is gone is not an error.
func SignalIf(pid int, sig syscall.Signal, meant func() (bool, error)) error {
	p, err := os.FindProcess(pid) // holds it by a descriptor where the system has such
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

// startOf returns when a process started, from /proc where there is one.
func startOf(pid int) (string, error) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err == nil {
		return startIn(string(stat))
	}
	if _, procErr := os.Stat("/proc/self/stat"); procErr == nil {
		return "", err
	}
	out, err := exec.Command("ps", "-o", "stat=,lstart=", "-p", strconv.Itoa(pid)).Output() //nolint:noctx // ends by itself at once
	text := strings.TrimSpace(string(out))
	if err != nil || text == "" || text[0] == 'Z' {
		return "", errEnded
	}
	_, start, _ := strings.Cut(text, " ")
	return strings.TrimSpace(start), nil
}

// startIn reads the 22nd field of /proc/PID/stat, in clock ticks since boot. The
// second field is the program's name in brackets and may contain anything.
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

// KillGroup ends the process together with every process of its group, of which
// it must be the leader.
func (id Identity) KillGroup() error {
	if !id.Alive() {
		return nil
	}
	if err := syscall.Kill(-id.PID, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("kill process group %d: %w", id.PID, err)
	}
	return nil
}

// Reap takes in the end of a process that this process started, so that the
// system forgets it. Of another's process it does nothing.
func (id Identity) Reap() {
	if id.PID > 0 {
		_, _ = syscall.Wait4(id.PID, nil, syscall.WNOHANG, nil) // it still runs, or is not ours
	}
}
