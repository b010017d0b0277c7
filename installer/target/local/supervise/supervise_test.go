package supervise_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/det-deploy/det-deploy/installer/target/local/supervise"
	"github.com/det-deploy/det-deploy/internal/atomicfile"
)

// supervised is the variable with the directory of a supervisor that is a process of its own.
const supervised = "SUPERVISED_DIRECTORY"

func TestMain(m *testing.M) {
	if d := os.Getenv(supervised); d != "" {
		ctx := context.Background() //nolint:forbidigo // a program of its own
		err := supervise.Run(ctx, supervise.Config{Dir: supervise.Dir(d), Program: "/bin/sh", Log: slog.New(slog.DiscardHandler)})
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1) //nolint:forbidigo // a program of its own
	}
	goleak.VerifyTestMain(m)
}

// running starts a supervisor of shell scripts, which ends with the test.
func running(t *testing.T, d supervise.Dir) {
	t.Helper()
	runningTo(t, d, slog.New(slog.DiscardHandler))
}

func runningTo(t *testing.T, d supervise.Dir, log *slog.Logger) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- supervise.Run(ctx, supervise.Config{Dir: d, Program: "/bin/sh", Log: log})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("supervisor: got %v, want nil", err)
		}
	})
	eventually(t, "the supervisor runs", func() bool { _, ok := d.Holder(); return ok })
}

// loggedTo starts a supervisor and returns the file of its log.
func loggedTo(t *testing.T, d supervise.Dir) string {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "supervisor.log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() }) // nothing is lost
	runningTo(t, d, slog.New(slog.NewTextHandler(f, nil)))
	return f.Name()
}

func logged(log, text string) bool {
	b, err := os.ReadFile(log)
	return err == nil && strings.Contains(string(b), text)
}

func damage(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func unit(t *testing.T, d supervise.Dir, name, generation, script string) {
	t.Helper()
	err := d.Put(supervise.Unit{
		Name: name, Generation: generation, Args: []string{"-c", script}, Log: filepath.Join(string(d), name+".log"),
	})
	if err != nil {
		t.Fatal(err)
	}
	wake(t, d)
}

func wake(t *testing.T, d supervise.Dir) {
	t.Helper()
	id, ok := d.Holder()
	if !ok {
		t.Fatal("no supervisor runs")
	}
	if err := id.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
}

func status(t *testing.T, d supervise.Dir, name string) supervise.Status {
	t.Helper()
	s, _, err := d.Status(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		if ok() {
			return
		}
		<-time.After(5 * time.Millisecond)
	}
	t.Fatalf("waited a minute and it did not happen: %s", what)
}

// SIGHUP is delivered to the whole test process, so these tests are not parallel.
func TestSupervisor(t *testing.T) {
	d := supervise.Dir(filepath.Join(t.TempDir(), "a [b] c*"))
	running(t, d)

	if err := supervise.Run(t.Context(), supervise.Config{Dir: d, Program: "/bin/sh", Log: slog.New(slog.DiscardHandler)}); !errors.Is(err, supervise.ErrRunning) {
		t.Errorf("a second one: got %v, want %v", err, supervise.ErrRunning)
	}

	unit(t, d, "a", "1", "exec sleep 1000")
	eventually(t, "a runs", func() bool { return status(t, d, "a").Alive() })
	first := status(t, d, "a")

	if err := first.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a runs again", func() bool { s := status(t, d, "a"); return s.Alive() && s.Restarts == 1 })

	unit(t, d, "a", "2", "exec sleep 1000")
	eventually(t, "a runs as it is now wanted", func() bool { s := status(t, d, "a"); return s.Alive() && s.Generation == "2" })
	if got := status(t, d, "a").Restarts; got != 1 {
		t.Errorf("got %d restarts, want 1: a change does not count", got)
	}

	unit(t, d, "b", "1", "echo cannot; exit 3")
	// The exit status is only set between two runs.
	eventually(t, "b died several times, with its exit status", func() bool {
		s := status(t, d, "b")
		return s.Restarts >= 2 && s.Exit == "exit status 3"
	})
	log, err := os.ReadFile(filepath.Join(string(d), "b.log"))
	if err != nil || strings.Count(string(log), "cannot") < 2 {
		t.Errorf("got log %q and %v, want the output of each run", log, err)
	}

	last := status(t, d, "a")
	if err := d.Drop("a"); err != nil {
		t.Fatal(err)
	}
	wake(t, d)
	eventually(t, "a is gone", func() bool { _, seen, _ := d.Status("a"); return !seen && !last.Alive() })
}

func TestIdentityDistinguishesProcesses(t *testing.T) {
	t.Parallel()
	me, err := supervise.Identify(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if !me.Alive() {
		t.Error("got that this process is dead")
	}
	other := supervise.Identity{PID: me.PID, Start: me.Start + "0"}
	if other.Alive() {
		t.Error("got that an earlier process of this number lives")
	}
	if err := other.Signal(syscall.SIGKILL); err != nil { // the signal would kill this test
		t.Errorf("got %v, want nil", err)
	}
	if (supervise.Identity{}).Alive() {
		t.Error("got that no process lives")
	}
}

// A directory in place of the temporary file simulates a full disk.
func TestStatusIsWrittenLater(t *testing.T) {
	d := supervise.Dir(t.TempDir())
	running(t, d)
	unit(t, d, "a", "1", "exec sleep 1000")
	eventually(t, "a runs", func() bool { return status(t, d, "a").Alive() })
	inTheWay := filepath.Join(string(d), "run", "a.json") // a file cannot replace a directory
	if err := errors.Join(os.Remove(inTheWay), os.Mkdir(inTheWay, 0o700)); err != nil {
		t.Fatal(err)
	}
	started := filepath.Join(string(d), "started")
	unit(t, d, "a", "2", "echo $$ >"+started+"; exec sleep 1000")
	eventually(t, "a runs again", func() bool { _, err := os.Stat(started); return err == nil })
	if err := os.Remove(inTheWay); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the status is there", func() bool { s := status(t, d, "a"); return s.Generation == "2" && s.Alive() })
	if got := status(t, d, "a").Restarts; got != 0 {
		t.Errorf("got %d restarts, want none: it ran all along", got)
	}
}

func TestUnreadableStatusPreventsStart(t *testing.T) {
	d := supervise.Dir(t.TempDir())
	if err := d.Make(); err != nil {
		t.Fatal(err)
	}
	unreadable := filepath.Join(string(d), "run", "a.json")
	if err := os.Mkdir(unreadable, 0o700); err != nil {
		t.Fatal(err)
	}
	running(t, d)
	log := filepath.Join(string(d), "a.log")
	unit(t, d, "a", "1", "exec sleep 1000")
	unit(t, d, "b", "1", "exec sleep 1000")
	eventually(t, "b runs, which was looked at after a", func() bool { return status(t, d, "b").Alive() })
	if _, err := os.Stat(log); err == nil {
		t.Error("a was started; an earlier one may be running")
	}
	if err := os.Remove(unreadable); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a runs", func() bool { return status(t, d, "a").Alive() })
}

// A file in place of the directory simulates an unreadable directory.
func TestUnlistableUnitsAreNotStopped(t *testing.T) {
	d := supervise.Dir(t.TempDir())
	log := loggedTo(t, d)
	unit(t, d, "a", "1", "exec sleep 1000")
	eventually(t, "a runs", func() bool { return status(t, d, "a").Alive() })
	units, aside := filepath.Join(string(d), "units"), filepath.Join(string(d), "aside")
	if err := errors.Join(os.Rename(units, aside), os.WriteFile(units, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the supervisor has tried", func() bool {
		return logged(log, "cannot read the units")
	})
	if err := errors.Join(os.Remove(units), os.Rename(aside, units)); err != nil {
		t.Fatal(err)
	}
	first := status(t, d, "a").Identity
	unit(t, d, "b", "1", "exec sleep 1000")
	eventually(t, "b runs", func() bool { return status(t, d, "b").Alive() })
	if got := status(t, d, "a"); got.Identity != first || !got.Alive() {
		t.Errorf("got %v, want %v alive: its unit was not deleted", got, first)
	}
}

// A unit that cannot be read is not stopped, and others continue. Rewriting it and waking the
// supervisor restores all files.
func TestDamagedUnitIsReportedAndRepaired(t *testing.T) {
	for text, want := range map[string]string{"": "it is empty", `{"name": "a", "ar`: "it ends in the middle", "\x00": "it is not the document"} {
		d := supervise.Dir(t.TempDir())
		t.Run(want, func(t *testing.T) {
			log := loggedTo(t, d)
			unit(t, d, "a", "1", "exec sleep 1000")
			eventually(t, "a runs", func() bool { return status(t, d, "a").Alive() })
			first := status(t, d, "a").Identity
			damage(t, filepath.Join(string(d), "units", "a.json"), text)
			wake(t, d)
			// A supervisor that has read the unit before rewrites the status once more.
			eventually(t, "the damage is noticed", func() bool { return logged(log, "cannot supervise the unit") })
			damage(t, filepath.Join(string(d), "run", "a.json"), text)
			_, _, unitErr := d.Unit("a")
			_, _, statusErr := d.Status("a")
			for dir, err := range map[string]error{"units": unitErr, "run": statusErr} {
				path := filepath.Join(string(d), dir, "a.json")
				named, ok := errors.AsType[*atomicfile.DamagedError](err)
				if !ok || named.Path != path || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "local up") {
					t.Errorf("got %v, want %s: %s", err, path, want)
				}
			}
			unit(t, d, "b", "1", "exec sleep 1000")
			eventually(t, "b runs", func() bool { return status(t, d, "b").Alive() })
			unit(t, d, "a", "1", "exec sleep 1000")
			eventually(t, "a's status is back", func() bool { s, _, err := d.Status("a"); return err == nil && s.Alive() })
			if got := status(t, d, "a").Identity; got != first {
				t.Errorf("got %v, want %v: it ran all along", got, first)
			}
		})
	}
}

// A supervisor that is killed between the start of a process and its status leaves a process that no
// status names. The next supervisor replaces it.
func TestProcessThatWasNotStoredIsReplaced(t *testing.T) {
	d := supervise.Dir(t.TempDir())
	killed := exec.CommandContext(t.Context(), "/proc/self/exe")
	killed.Env = append(os.Environ(), supervised+"="+string(d))
	if err := killed.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the first supervisor runs", func() bool { _, ok := d.Holder(); return ok })
	unit(t, d, "a", "1", "exec sleep 1000")
	eventually(t, "a runs", func() bool { return status(t, d, "a").Alive() })
	first := status(t, d, "a").Identity
	eventually(t, "it is known by its lock", func() bool { id, runs := d.UnitHolder("a"); return runs && id == first })
	_ = errors.Join(killed.Process.Kill(), killed.Wait()) // it reports the signal
	if err := os.Remove(filepath.Join(string(d), "run", "a.json")); err != nil {
		t.Fatal(err)
	}
	if names, err := d.Known(); err != nil || len(names) != 1 {
		t.Errorf("got %v and %v, want the unit", names, err)
	}
	running(t, d)
	eventually(t, "another process runs", func() bool {
		s := status(t, d, "a")
		return s.Alive() && s.Generation == "1" && s.Identity != first
	})
	if first.Alive() {
		t.Error("the first process is still running")
	}
}

// A child of a process inherits its lock and may outlive it.
func TestChildrenOfAProcessDoNotKeepItsUnit(t *testing.T) {
	d := supervise.Dir(t.TempDir())
	running(t, d)
	unit(t, d, "a", "1", "sleep 1000 & echo $! >>"+string(d)+"/children; exec sleep 1000")
	t.Cleanup(func() {
		text, _ := os.ReadFile(string(d) + "/children") // nothing was started without it
		for child := range strings.FieldsSeq(string(text)) {
			if pid, err := strconv.Atoi(child); err == nil {
				_ = syscall.Kill(pid, syscall.SIGKILL) // it is still sleeping
			}
		}
	})
	eventually(t, "a runs", func() bool { return status(t, d, "a").Alive() })
	first := status(t, d, "a")
	if err := first.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a runs again", func() bool { s := status(t, d, "a"); return s.Alive() && s.PID != first.PID })
	eventually(t, "the second is known by its lock", func() bool {
		id, runs := d.UnitHolder("a")
		return runs && id == status(t, d, "a").Identity
	})
}
