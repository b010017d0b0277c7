package inside

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// signals are the signals that a stream passes on.
var signals = map[string]unix.Signal{
	"INT": unix.SIGINT, "TERM": unix.SIGTERM, "KILL": unix.SIGKILL, "HUP": unix.SIGHUP,
	"QUIT": unix.SIGQUIT, "USR1": unix.SIGUSR1, "USR2": unix.SIGUSR2,
}

// SignalNumber returns the signal of a name like "TERM".
func SignalNumber(name string) (unix.Signal, error) {
	sig, known := signals[name]
	if !known {
		return 0, fmt.Errorf("signal %.20q is not one of INT, TERM, KILL, HUP, QUIT, USR1 and USR2", name)
	}
	return sig, nil
}

// Members returns the processes of a program: those of the session that it leads and their
// descendants, and the program itself if it is running. It asks belongs about each of them, because the
// ID of a program that has exited may be reused.
func Members(leader int, belongs func(pid int) bool) []int {
	return membersOf(Processes(), leader, belongs)
}

func membersOf(table []Proc, leader int, belongs func(pid int) bool) []int {
	in := map[int]bool{}
	for grown := true; grown; {
		grown = false
		for _, p := range table {
			if !in[p.PID] && (p.PID == leader || p.Session == leader || in[p.Parent]) && belongs(p.PID) {
				in[p.PID], grown = true, true
			}
		}
	}
	var out []int
	for _, p := range table {
		if in[p.PID] {
			out = append(out, p.PID)
		}
	}
	return out
}

// SignalAll sends a signal to processes. It stops all of them before it kills them, so that none reacts
// to the death of another. A process that has exited is no error.
func SignalAll(pids []int, sig unix.Signal) error {
	if sig == unix.SIGKILL {
		_ = signalAll(pids, unix.SIGSTOP) // the same errors follow
	}
	return signalAll(pids, sig)
}

func signalAll(pids []int, sig unix.Signal) error {
	var errs []error
	for _, p := range pids {
		if err := unix.Kill(p, sig); !errors.Is(err, unix.ESRCH) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

const (
	// killPatience is how long the processes of a program may take to end once they are killed.
	killPatience = 5 * time.Second
	killPause    = 5 * time.Millisecond
)

// KillMembers kills the processes of a program until none is left, because they may start others
// meanwhile.
func KillMembers(leader int, belongs func(pid int) bool) error {
	pause := time.NewTicker(killPause)
	defer pause.Stop()
	for deadline := time.Now().Add(killPatience); ; <-pause.C {
		left := Members(leader, belongs)
		if len(left) == 0 {
			return nil
		}
		if err := SignalAll(left, unix.SIGKILL); err != nil {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("processes %v do not end", left)
		}
	}
}

// KillAll kills processes. Errors mean that a process has exited.
func KillAll(pids []int) { _ = SignalAll(pids, unix.SIGKILL) }
