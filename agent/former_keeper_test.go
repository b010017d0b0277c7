package agent

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// keeperCommand runs this test program as the keeper of an earlier version.
const keeperCommand = "keep"

// beFormerKeeper holds the lock of a data_dir like a keeper.
func beFormerKeeper(dir string) int {
	f, err := os.OpenFile(filepath.Join(dir, "keeper"), os.O_CREATE|os.O_RDWR, 0o600)
	if err == nil {
		err = unix.FcntlFlock(f.Fd(), unix.F_SETLK, &unix.Flock_t{Type: unix.F_WRLCK})
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "keeper.log"), []byte("on duty\n"), 0o600)
	}
	if err != nil {
		return 1
	}
	<-time.After(time.Hour)
	return 0
}

// startFormerKeeper starts a keeper and returns when it holds the lock.
func startFormerKeeper(t *testing.T, dir string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), self, keeperCommand, dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }) // it may have exited
	for end := time.Now().Add(time.Minute); ; <-time.After(10 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(dir, "keeper.log")); err == nil {
			return cmd
		}
		if time.Now().After(end) {
			t.Fatal("it never began")
		}
	}
}

func wantNoKeeper(t *testing.T, dir string) {
	t.Helper()
	if left, _ := filepath.Glob(filepath.Join(dir, "keeper*")); len(left) != 0 { // the pattern is valid
		t.Errorf("%v are left", left)
	}
}

// After an update in place the former keeper is a child of this process.
func TestAFormerKeeperIsEndedAndReaped(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd := startFormerKeeper(t, dir)
	for range 2 { // the second call finds nothing
		if err := endFormerKeeper(t.Context(), dir); err != nil {
			t.Fatal(err)
		}
		wantNoKeeper(t, dir)
	}
	if _, err := unix.Wait4(cmd.Process.Pid, nil, unix.WNOHANG, nil); !errors.Is(err, unix.ECHILD) {
		t.Errorf("waiting for it gives %v, want that it was reaped", err)
	}
}

// The next agent kills the keeper of the earlier version and completes the termination it had
// begun.
func TestAgentFinishesWorkOfFormerKeeper(t *testing.T) {
	t.Parallel()
	p := newPeer(t)
	s := settings(t, p)
	first := run(t, s)
	rerun := func(o *agentv1.Start) { o.Rerun = true }
	p.start("marked", "exec sleep 600", rerun)
	p.start("again", "exec sleep 600", rerun)
	p.start("only", "exec sleep 600")
	for _, id := range []string{"marked", "again", "only"} {
		p.awaitState(id, apiv1.Container_STATE_RUNNING)
	}
	first.halt()
	keeper := startFormerKeeper(t, s.DataDir)
	for _, id := range []string{"marked", "only"} {
		if err := os.WriteFile(filepath.Join(s.DataDir, "logs", id+".silent"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run(t, s)
	if c := p.awaitEnd("marked"); !c.exit.GetSilent() || c.exit.GetKind() != agentv1.Exit_KIND_LOST {
		t.Errorf("got %v, want the end for the master's silence", c.exit)
	}
	if err := keeper.Process.Signal(syscall.Signal(0)); err == nil {
		t.Error("the keeper is still there")
	}
	wantNoKeeper(t, s.DataDir)
	for _, id := range []string{"again", "only"} {
		p.mu.Lock()
		if e := p.containers[id].exit; e != nil {
			t.Errorf("%s ended with %v", id, e)
		}
		p.mu.Unlock()
		p.signal(id, agentv1.Signal_KIND_KILL, 0)
		p.awaitEnd(id)
	}
}

func TestASweepEndsAFormerKeeper(t *testing.T) {
	t.Parallel()
	s := settings(t, newPeer(t))
	keeper := startFormerKeeper(t, s.DataDir)
	if err := Sweep(t.Context(), Config{Settings: s, Log: slog.New(slog.DiscardHandler)}); err != nil {
		t.Fatal(err)
	}
	wantNoKeeper(t, s.DataDir)
	if err := keeper.Process.Signal(syscall.Signal(0)); err == nil {
		t.Error("the keeper is still there")
	}
}
