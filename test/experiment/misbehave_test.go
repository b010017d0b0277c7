package experiment_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/test/rest"
)

// misbehave creates an experiment whose program misbehaves. The command lines of its remaining
// processes contain the mark.
func (l *lab) misbehave(how string, slots int) (id, mark string) {
	l.t.Helper()
	mark = fmt.Sprintf("left-%d-%d", os.Getpid(), time.Now().UnixNano())
	return l.submit("testdata/misbehave", fmt.Sprintf(`
name: %s
entrypoint: python3 train.py
hyperparameters: {how: %[1]s, mark: %s}
searcher: {name: single, metric: validation_loss}
resources: {slots_per_trial: %d}
max_restarts: 0
preemption_timeout: 2
`, how, mark, slots)), mark
}

// submit creates an experiment with our own client, which starts in a tenth of the time of det.
func (l *lab) submit(dir, config string) (id string) {
	l.t.Helper()
	file := filepath.Join(l.t.TempDir(), "train.yaml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		l.t.Fatal(err)
	}
	return strings.TrimSpace(l.Run("experiment", "create", file, "--context", dir))
}

// has returns an error with the end of the log unless the log of an experiment's only trial
// contains a text.
func (l *lab) has(id, text string) error {
	l.t.Helper()
	out := l.Run("trial", "logs", fmt.Sprint(l.describe(id).Trials[0].ID))
	if strings.Contains(out, text) {
		return nil
	}
	return fmt.Errorf("%q is not in %s", text, out[max(0, len(out)-2000):])
}

// awaitGone waits until no process has the mark in its command line.
func (l *lab) awaitGone(mark string) {
	l.t.Helper()
	l.Eventually("no process is left of "+mark, patience, func() error {
		all, err := filepath.Glob("/proc/[0-9]*/cmdline")
		if err != nil {
			return err
		}
		for _, path := range all {
			if line, _ := os.ReadFile(path); bytes.Contains(line, []byte(mark)) { // it may have exited
				return fmt.Errorf("%s: %q", path, line)
			}
		}
		return nil
	})
}

// awaitLine waits until the log of an experiment's only trial contains a text.
func (l *lab) awaitLine(id, text string) {
	l.t.Helper()
	l.Eventually(fmt.Sprintf("the log of experiment %s has %q", id, text), patience, func() error {
		return l.has(id, text)
	})
}

// misbehaves runs misbehaving programs on a lab of three slots and checks that they harm no other
// task.
func (l *lab) misbehaves() {
	l.t.Helper()
	deaf, deafMark := l.misbehave("ignores signals", 1)
	leaves, leftMark := l.misbehave("leaves children", 1)
	fills, _ := l.misbehave("fills its log", 1)
	l.killsWhatDoesNotHeed(deaf, deafMark)
	l.endsWhatWasLeft(leaves, leftMark)
	l.boundsLog(fills)
}

// killsWhatDoesNotHeed pauses a program that ignores the preemption signal.
func (l *lab) killsWhatDoesNotHeed(id, mark string) {
	l.t.Helper()
	l.awaitLine(id, "deaf")
	l.Run("experiment", "pause", id)
	l.awaitGone(mark)
	l.Eventually("its run has ended", patience, func() error {
		if h := l.history(id); !strings.Contains(h, "no restart is counted") {
			return errors.New(h)
		}
		return nil
	})
	if e := l.await(id, "PAUSED"); e.Trials[0].Restarts != 0 {
		l.t.Errorf("got %d restarts, want none: it was killed because it was asked to stop", e.Trials[0].Restarts)
	}
	l.Run("experiment", "activate", id)
	e := l.await(id, "COMPLETED")
	if e.Trials[0].Restarts != 0 {
		l.t.Errorf("got %d restarts, want none", e.Trials[0].Restarts)
	}
	l.awaitLine(id, "resumed")
}

// endsWhatWasLeft checks that the children of an ended program are killed.
func (l *lab) endsWhatWasLeft(id, mark string) {
	l.t.Helper()
	l.await(id, "COMPLETED")
	l.awaitGone(mark)
}

// boundsLog checks a cluster on which a program wrote far more than its log limit.
func (l *lab) boundsLog(id string) {
	l.t.Helper()
	e := l.await(id, "COMPLETED")
	l.awaitLine(id, "log_bytes_per_task")
	if out := l.Run("trial", "logs", fmt.Sprint(e.Trials[0].ID)); len(out) > 8<<20 {
		l.t.Errorf("got %d bytes of log, want them bounded", len(out))
	}
	for _, of := range []string{"master", "agent-agent-0"} {
		l.Eventually("the disk of "+of+" is not filled by a program", patience, func() error {
			if size := sizeOf(l.t, filepath.Join(l.Dir, of)); size > 24<<20 {
				return fmt.Errorf("%d bytes", size)
			}
			return nil
		})
	}
	began := time.Now()
	if l.api().Read(l.t, "master"); time.Since(began) > 10*time.Second {
		l.t.Errorf("the master answers after %s", time.Since(began))
	}
}

// sizeOf returns the disk usage of a directory.
func sizeOf(t *testing.T, dir string) (size int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil //nolint:nilerr // it is gone
		}
		if info, err := d.Info(); err == nil {
			size += info.Sys().(*syscall.Stat_t).Blocks * 512 // sparse files have holes
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return size
}

func TestRankFailureEndsGangAndMissingRankIsReported(t *testing.T) {
	rest.Only(t)
	t.Parallel()
	l := openLab(t, options{agents: 2})
	id, mark := l.misbehave("fails alone", 2)
	l.await(id, "ERROR")
	l.awaitGone(mark)
	for _, text := range []string{"(exit code 7)", "forcibly killing allocation's remaining resources"} {
		l.awaitLine(id, text)
	}

	id = l.submit("testdata/absent", `
name: absent
entrypoint: "true"
searcher: {name: single, metric: validation_loss}
resources: {slots_per_trial: 2}
`)
	l.awaitLine(id, "1 of 2 containers are waiting for the others: rank ")
	l.awaitLine(id, "on agent-1 (running; ")
	l.Run("experiment", "kill", id)
	l.await(id, "CANCELED")
}
