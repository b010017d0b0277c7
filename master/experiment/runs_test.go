package experiment

import (
	"slices"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/task"
)

// programConfig returns the configuration that a run's program receives in its environment.
func (w *world) programConfig(trial int32, run int) string {
	w.Helper()
	t := w.trial(trial)
	p, err := w.x.Run(w.Context(), task.RunOrder{Task: rm.TaskID(t.Task()), Run: run, Assignment: rm.Assignment{Allocation: w.allocationOf(t)}})
	if err != nil {
		w.Fatal(err)
	}
	const name = "DET_EXPERIMENT_CONFIG="
	at := slices.IndexFunc(p.Variables, func(v string) bool { return strings.HasPrefix(v, name) })
	if at < 0 {
		w.Fatalf("got variables %q, want %s", p.Variables, name)
	}
	return p.Variables[at][len(name):]
}

// The runs of all trials share the encoded configuration until it changes.
func TestProgramReadsCurrentConfiguration(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(single)
	w.place(1)
	first := w.programConfig(1, 1)
	if again := w.programConfig(1, 1); again != first || !strings.Contains(first, `"save_trial_latest":0`) {
		t.Errorf("got %s and then %s", first, again)
	}
	if _, err := w.x.Patch(t.Context(), ann(), 1, Patch{Keep: &Keep{ExperimentBest: 1, TrialBest: 2, TrialLatest: 3}}); err != nil {
		t.Fatal(err)
	}
	if got := w.programConfig(1, 1); !strings.Contains(got, `"save_trial_latest":3`) {
		t.Errorf("got %s, want what was changed", got)
	}
	w.restart()
	if got := w.programConfig(1, 1); !strings.Contains(got, `"save_trial_latest":3`) {
		t.Errorf("got %s after a restart, want what was changed", got)
	}
}
