// Package companion starts this very program beside an agent, as a process that outlives it:
// what starts its tasks.
package companion

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// Companion is a process to be.
type Companion struct {
	// Args are the program's.
	Args []string
	// File is open in it as 3.
	File *os.File
	Log  Log
	// Needs says which variables of the agent it has.
	Needs func(key string) bool
}

// background is a shell that leaves a program to the system.
const background = `"$@" &`

// StartAlone runs this program, wherever its file is now, in a session of its own. It is no child
// of this process: the system takes in its end.
func (c Companion) StartAlone() error {
	program := "/proc/" + strconv.Itoa(os.Getpid()) + "/exe"
	pid, err := c.run("/bin/sh", append([]string{"sh", "-c", background, "sh", program}, c.Args...))
	if err != nil {
		return err
	}
	var status syscall.WaitStatus
	_, err = syscall.Wait4(pid, &status, 0, nil)
	for errors.Is(err, syscall.EINTR) {
		_, err = syscall.Wait4(pid, &status, 0, nil)
	}
	return err
}

func (c Companion) run(path string, args []string) (pid int, err error) {
	log := c.Log.open()
	cmd := &exec.Cmd{
		Path: path, Args: args, Env: c.environ(os.Environ()), Dir: "/",
		ExtraFiles: []*os.File{c.File}, SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	if log != nil {
		defer func() { _ = log.Close() }() // the child has its own
		cmd.Stdout, cmd.Stderr = log, log
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	pid = cmd.Process.Pid // Release forgets it
	return pid, cmd.Process.Release()
}

// environ leaves a companion what it needs, and no secrets.
func (c Companion) environ(all []string) []string {
	out := []string{"GOMAXPROCS=1"}
	for _, entry := range all {
		if key, _, _ := strings.Cut(entry, "="); c.Needs != nil && c.Needs(key) {
			out = append(out, entry)
		}
	}
	return out
}
