package experiment_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A researcher's day with the unmodified client: a program is watched while it runs, fails and is
// continued, and the logs of its three runs and of a single one are read in every way.
func TestDetClientWorkday(t *testing.T) {
	t.Parallel()
	dir := sharedDir(t)
	l := openLab(t, options{mounts: fmt.Sprintf("    - {host_path: %s, container_path: %s, read_only: true}\n", dir, dir)})
	code := filepath.Join(dir, "code")
	end := func(with string) {
		t.Helper()
		part := filepath.Join(dir, "part")
		if err := os.WriteFile(part, []byte(with), 0o644); err != nil { //nolint:gosec // the task has another user
			t.Fatal(err)
		}
		if err := os.Rename(part, code); err != nil {
			t.Fatal(err)
		}
	}
	id := l.submit("testdata/day", fmt.Sprintf(`
name: day
entrypoint: python3 train.py %s
hyperparameters: {lr: 0.1}
searcher: {name: single, metric: loss}
resources: {slots_per_trial: 1}
max_restarts: 1
`, code))
	l.Eventually("the trial's output is read while it runs", patience, func() error {
		e := l.describe(id)
		if len(e.Trials) == 0 {
			return fmt.Errorf("experiment %s has no trial: %s", id, l.history(id))
		}
		return l.has(id, "run 1 is here")
	})
	end("3")
	e := l.await(id, "ERROR")
	if got := e.Trials[0].Restarts; got != 1 {
		t.Errorf("got %d restarts, want 1: the second failure was the last", got)
	}
	l.det.Refused([]string{"experiment", "continue", id, "--config", "hyperparameters.lr=0.2"}, "the trial keeps its initial values")
	end("0")
	l.det.Want([]string{"experiment", "continue", id, "--config", "name=evening"}, "Continued experiment "+id)
	l.await(id, "COMPLETED")
	trial := fmt.Sprint(e.Trials[0].ID)
	out := l.det.Want([]string{"trial", "logs", trial}, "run 1 is here", "run 2 is here", "run 3 is here")
	if n := strings.Count(out, " is here"); n != 3 {
		t.Errorf("got %d lines of the program, want one of each run:\n%s", n, out)
	}
	l.checkLogReadings(t, trial)
	once := l.submit("testdata/day", fmt.Sprintf(`
name: one run
entrypoint: python3 train.py %s
hyperparameters: {lr: 0.1}
searcher: {name: single, metric: loss}
resources: {slots_per_trial: 1}
max_restarts: 0
`, code))
	l.checkLogReadings(t, fmt.Sprint(l.await(once, "COMPLETED").Trials[0].ID))
	l.det.Want([]string{"dev", "bindings", "call", "get_GetExperiments", "limit=-1"}, "evening")
	l.det.Refused([]string{"oauth", "client", "list"}, "Determined Enterprise Edition is required")
}
