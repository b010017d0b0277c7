package process_test

import (
	"errors"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/internal/process"
)

func TestOnlySameProcessIsSignalled(t *testing.T) {
	t.Parallel()
	c := exec.Command("sleep", "600")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	id, err := process.Identify(c.Process.Pid)
	if err != nil || !id.Alive() {
		t.Fatalf("got %+v alive %v and %v", id, id.Alive(), err)
	}
	stranger := process.Identity{PID: id.PID, Start: id.Start + "0"}
	cause := errors.New("cannot be told")
	if err := errors.Join(
		stranger.Signal(syscall.SIGKILL), (process.Identity{}).Signal(syscall.SIGKILL),
		process.SignalIf(id.PID, syscall.SIGKILL, func() (bool, error) { return false, nil }),
	); err != nil {
		t.Errorf("one that is not meant: got %v", err)
	}
	if err := process.SignalIf(id.PID, syscall.SIGKILL, func() (bool, error) { return true, cause }); !errors.Is(err, cause) {
		t.Errorf("got %v, want %v", err, cause)
	}
	if !id.Alive() {
		t.Fatal("a process that was not meant was signalled")
	}
	if err := id.Signal(syscall.SIGTERM); err != nil {
		t.Errorf("the one that is meant: got %v", err)
	}
	select {
	case err := <-ended:
		if err == nil {
			t.Error("got no error, want that the process was ended by the signal")
		}
	case <-time.After(time.Minute):
		_ = c.Process.Kill() // it may have exited
		t.Fatal("the one that is meant has got no signal")
	}
	if err := id.Signal(syscall.SIGKILL); err != nil {
		t.Errorf("one that has ended: got %v", err)
	}
}
