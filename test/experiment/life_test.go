package experiment_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/test/postgrestest"
	"github.com/det-deploy/det-deploy/test/rest"
)

// TestTrialsCompleteAndAreIsolated runs the life of a trial on each runtime, with a different
// database for each, and programs that try to harm others there.
func TestTrialsCompleteAndAreIsolated(t *testing.T) {
	for _, runtime := range []string{"process and SQLite", "docker and PostgreSQL"} {
		t.Run(runtime, func(t *testing.T) {
			t.Parallel()
			docker := strings.HasPrefix(runtime, "docker")
			o := options{slots: 3, docker: docker, security: "  limits: {log_bytes_per_task: 1m}\n"}
			if docker {
				o.master = "db:\n  url: " + postgrestest.Start(t, postgrestest.Options{}).URL() + "\n"
			}
			l := openLab(t, o)
			spyOn(l, l.trainOnce(), docker)
			l.misbehaves()
		})
	}
}

// trainOnce trains one trial, which keeps all its checkpoints.
func (l *lab) trainOnce() (id string) {
	l.t.Helper()
	id = l.create("line", "single.yaml", "checkpoint_storage.save_trial_latest=4")
	e := l.await(id, "COMPLETED")
	if len(e.Trials) != 1 || e.Trials[0].State != "STATE_COMPLETED" || e.Trials[0].Restarts != 0 {
		l.t.Errorf("got %+v, want one completed trial", e)
	}
	if got := fmt.Sprint(l.validations(e.Trials[0].ID)); got != "[2 4 6 8]" && got != "[8 6 4 2]" {
		l.t.Errorf("got validations at %s, want each second epoch", got)
	}
	l.det.Want([]string{"experiment", "list"}, "line", "COMPLETED")
	l.det.Want([]string{"experiment", "list-checkpoints", id}, "COMPLETED")
	return id
}

// Except in the rest, the test binary replaces the programs of the trials, because eight starts of
// Python take longest.
func TestSearchStopsWorseTrialsAndCountsEachOnce(t *testing.T) {
	t.Parallel()
	l := openLab(t, options{slots: 2, tiny: rest.Choose(true, false)})
	id := l.create("line", "asha.yaml")
	e := l.await(id, "COMPLETED")
	if len(e.Trials) != 8 {
		t.Fatalf("got %d trials, want the 8 of max_trials", len(e.Trials))
	}
	epochs, most := 0, 0
	for _, trial := range e.Trials {
		l.wantOnce(trial)
		last := len(l.validations(trial.ID))
		epochs, most = epochs+last, max(most, last)
	}
	if most != 16 || epochs > 8*16*3/4 {
		t.Errorf("got %d epochs, %d of one trial at most; want one trained to the end of 16, and a quarter of all saved", epochs, most)
	}
	if h := l.history(id); !strings.Contains(h, "was stopped at") {
		t.Errorf("got %s, want a sentence on each trial that was stopped", h)
	}
}

// slow lets a test act while a trial trains.
var slow = []string{"hyperparameters.seconds_per_epoch=0.5", "hyperparameters.epochs=60", "hyperparameters.validate_every=1", "max_restarts=2"}

// awaitEpochs waits until a trial has validated that often.
func (l *lab) awaitEpochs(id string, epochs int) trial {
	l.t.Helper()
	var last trial
	l.Eventually(fmt.Sprintf("experiment %s has trained %d epochs", id, epochs), patience, func() error {
		for _, last = range l.describe(id).Trials {
			if len(l.validations(last.ID)) >= epochs {
				return nil
			}
		}
		return errors.New(l.history(id))
	})
	return last
}

func TestPausedTrialResumesFromCheckpoint(t *testing.T) {
	t.Parallel()
	l := openLab(t, options{})
	id := l.create("line", "single.yaml", slow...)
	name := fmt.Sprint(l.awaitEpochs(id, 3).ID)
	l.det.OK("", "experiment", "pause", id)
	l.Eventually("it has saved itself", patience, func() error {
		if out := l.det.OK("", "trial", "logs", name); !strings.Contains(out, "stopped at epoch") {
			return errors.New(out)
		}
		return nil
	})
	before := len(l.validations(l.await(id, "PAUSED").Trials[0].ID))
	l.det.OK("", "experiment", "activate", id)
	trial := l.awaitEpochs(id, before+2)
	if trial.Restarts != 0 {
		t.Errorf("got %d restarts, want none for a pause", trial.Restarts)
	}
	l.wantOnce(trial)
	l.det.Want([]string{"trial", "logs", fmt.Sprint(trial.ID)}, "stopped at epoch", "resumed at epoch")
	l.det.OK("", "experiment", "cancel", id)
	l.await(id, "CANCELED")
}
