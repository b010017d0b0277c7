package keeper

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/det-deploy/det-deploy/agent/lease"
)

// keep makes this test program a keeper.
const keep = "keep"

func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == keep {
		os.Exit(beKeeper(os.Args[3])) //nolint:forbidigo // the main of another program
	}
	os.Exit(m.Run()) //nolint:forbidigo // it is the main
}

func beKeeper(dir string) int {
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	cfg := Config{DataDir: dir, Lease: os.NewFile(LeaseFD, "lease"), Log: log}
	if err := Run(context.Background(), cfg); err != nil { //nolint:forbidigo // the main of another program
		log.Error("keeper ended", "err", err)
		return 1
	}
	return 0
}

// program is what starts the keeper of a data_dir, as each program of an agent's process
// makes it for itself.
func program(t *testing.T, dir string) *Child {
	t.Helper()
	l, err := lease.Open(lease.File(dir))
	if err != nil {
		t.Fatal(err)
	}
	c := &Child{Command: []string{keep}, Lease: l, Config: Config{DataDir: dir}}
	t.Cleanup(func() {
		c.dismissKeeper(context.WithoutCancel(t.Context()), slog.New(slog.DiscardHandler), func() bool { return false })
		_ = l.Close()
	})
	return c
}

func started(t *testing.T, c *Child) (pid int) {
	t.Helper()
	eventually(t, "there is a keeper", func() error {
		if err := c.Ensure(); err != nil {
			return err
		}
		if pid = Holder(c.Config.DataDir); pid == 0 {
			return fmt.Errorf("it is none yet")
		}
		return nil
	})
	return pid
}

func eventually(t *testing.T, what string, is func() error) {
	t.Helper()
	var err error
	for end := time.Now().Add(time.Minute); time.Now().Before(end); <-time.After(20 * time.Millisecond) {
		if err = is(); err == nil {
			return
		}
	}
	t.Fatalf("in a minute it never came about that %s: %v", what, err)
}

// isNot is the error that a process is there, alive or a zombie.
func isNot(pid int) error {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err == nil {
		return fmt.Errorf("it is there: %s", stat)
	}
	return nil
}

// An agent that becomes another program in its own process takes in the end of the keeper
// before, whether or not it needs one itself, and however often that is started again.
func TestAKeeperOfTheProgramBeforeIsNoZombie(t *testing.T) {
	t.Parallel()
	for _, need := range []bool{false, true} {
		dir := t.TempDir()
		before := program(t, dir)
		first := started(t, before)
		before.pid = 0 // that program is no more
		next := program(t, dir)
		if need { // its agent needs one before anybody looks after it, and that ends as well
			second := started(t, next)
			if err := unix.Kill(second, unix.SIGKILL); err != nil {
				t.Fatal(err)
			}
			eventually(t, "there is a third", func() error {
				if pid := started(t, next); pid == second {
					return fmt.Errorf("it is still the second")
				}
				return nil
			})
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			next.Tend(ctx, slog.New(slog.DiscardHandler), func() bool { return need })
		}()
		eventually(t, "the keeper before is gone", func() error { return isNot(first) })
		cancel()
		<-done
	}
}

func TestAKeeperThatEndsAtOnceIsNone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := program(t, dir)
	if err := os.WriteFile(string(logFile(dir)), []byte("what an earlier one said\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "keeper"), 0o700); err != nil { // where its lock is
		t.Fatal(err)
	}
	err := c.Ensure()
	for end := time.Now().Add(time.Minute); err != nil && strings.Contains(err.Error(), "has not begun") && time.Now().Before(end); {
		<-time.After(20 * time.Millisecond) // the machine is busy
		if hasEnded(c.pid) {
			err = c.Ensure()
		}
	}
	if err == nil || !strings.Contains(err.Error(), "ended at once") || !strings.Contains(err.Error(), "is a directory") {
		t.Errorf("got %v, want what it said", err)
	}
	if err := os.Remove(filepath.Join(dir, "keeper")); err != nil {
		t.Fatal(err)
	}
	if pid := started(t, c); pid != c.pid {
		t.Errorf("got the keeper %d, want %d", pid, c.pid)
	}
}
