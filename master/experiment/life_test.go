package experiment

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/master/experiment/lifecycle"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/rm"
)

func TestTrialLifecycle(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	v := w.create(single)
	if v.ID != 1 || v.Shown != "QUEUED" || v.Trials != 1 {
		t.Fatalf("got %+v, want experiment 1 with one trial in the queue", v)
	}
	id := w.place(1)
	if v, trials := w.get(1); v.Shown != "RUNNING" || trials[0].Shown != "RUNNING" {
		t.Errorf("got %s and %s, want both RUNNING", v.Shown, trials[0].Shown)
	}
	w.report(1, 10, map[string]any{"loss": 0.5})
	w.report(1, 20, map[string]any{"loss": 0.25})
	w.save(1, 20)
	w.exit(id, 0)
	x, trials := w.wantState(1, lifecycle.Completed)
	if x.Best == nil || x.Best.Metric != 0.25 || x.Progress != 1 || x.Open != 0 || x.Ended.IsZero() {
		t.Errorf("got %+v, want a finished experiment whose best is 0.25", x.Experiment)
	}
	if got := trials[0]; got.Life.State != lifecycle.Completed || got.Steps != 20 || got.Life.Latest == "" {
		t.Errorf("got %+v, want a completed trial with a checkpoint", got.Trial)
	}
	want := []record.Kind{record.Created, record.Searched, record.RunBegan, record.RunEnded, record.Searched, record.Asked, record.StateChanged}
	if d := cmp.Diff(w.kinds(1), want); d != "" {
		t.Errorf("-got +want:\n%s", d)
	}
	if n := len(w.machine.open()); n != 0 {
		t.Errorf("got %d open allocations, want none", n)
	}
	w.restart()
	w.wantState(1, lifecycle.Completed)
}

func TestMaxRestarts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(single)
	for run := 1; run <= 3; run++ {
		if got := w.trial(1); got.Life.Run != run || got.Life.Restarts != run-1 {
			t.Errorf("got run %d after %d restarts, want run %d after %d", got.Life.Run, got.Life.Restarts, run, run-1)
		}
		w.exit(w.place(1), 7)
	}
	x, trials := w.wantState(1, lifecycle.Error)
	if x.Failure == "" || trials[0].Life.State != lifecycle.Error || trials[0].Life.Restarts != 2 {
		t.Errorf("got %q and %s after %d restarts, want a reason and ERROR after 2", x.Failure, trials[0].Life.State, trials[0].Life.Restarts)
	}
	if x.Progress != 0 || !strings.Contains(x.Failure, "exit code 7: it failed") {
		t.Errorf("got progress %g and %q, want what its program reached and its exit code", x.Progress, x.Failure)
	}
}

func TestLostMachineIsNotCountedAsRestart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(single)
	w.place(1)
	uuid := w.save(1, 10)
	w.end(w.allocationOf(w.trial(1)), rm.CauseAgentLost)
	got := w.trial(1)
	if got.Life.Run != 2 || got.Life.Restarts != 0 || got.Life.Latest != uuid || got.Base != 10 {
		t.Errorf("got %+v, want a second run from the checkpoint", got.Trial)
	}
	w.exit(w.place(1), 0)
	w.wantState(1, lifecycle.Completed)
}

func TestPausedExperimentResumes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(single)
	id := w.place(1)
	w.ask(1, lifecycle.Pause)
	if v, _ := w.get(1); v.Shown != "PAUSED" {
		t.Errorf("got %s, want PAUSED at once", v.Shown)
	}
	w.save(1, 5)
	w.heed(id)
	if n := len(w.machine.open()); n != 0 {
		t.Fatalf("got %d allocations while it is paused, want none", n)
	}
	w.restart()
	w.reconcile()
	if n := len(w.machine.open()); n != 0 {
		t.Fatalf("got %d allocations after a restart, want none", n)
	}
	w.ask(1, lifecycle.Activate)
	w.exit(w.place(1), 0)
	_, trials := w.wantState(1, lifecycle.Completed)
	if got := trials[0].Life; got.Run != 2 || got.Restarts != 0 {
		t.Errorf("got %+v, want two runs and no restart", got)
	}
}

func TestAnExperimentIsCanceledAndKilled(t *testing.T) {
	t.Parallel()
	for _, request := range []lifecycle.Request{lifecycle.Cancel, lifecycle.Kill} {
		w := newWorld(t)
		w.create(single)
		id := w.place(1)
		w.ask(1, request)
		if preempt, kill := w.machine.asked(id); preempt != (request == lifecycle.Cancel) || kill != (request == lifecycle.Kill) {
			t.Errorf("%s: got signal %t and kill %t", request, preempt, kill)
		}
		w.end(id, rm.CauseKilled)
		x, _ := w.wantState(1, lifecycle.Canceled)
		if x.EndedBy != ann().GetUsername() || !strings.HasSuffix(x.EndReason, "ed by user "+x.EndedBy) || x.Progress != 0 {
			t.Errorf("%s: got %q, %q and progress %g, want who requested it", request, x.EndedBy, x.EndReason, x.Progress)
		}
		w.restart()
		if again, _ := w.get(1); again.EndReason != x.EndReason {
			t.Errorf("%s: got %q after a restart, want %q", request, again.EndReason, x.EndReason)
		}
	}
}

func TestOnlyItsOwnerMayChangeAnExperiment(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(single)
	if err := w.x.Ask(t.Context(), bob(), 1, lifecycle.Kill); err == nil {
		t.Error("bob killed what is ann's")
	}
	if err := w.x.KillTrial(t.Context(), bob(), 1); err == nil {
		t.Error("bob killed a trial of ann's")
	}
	if err := w.x.KillTrial(t.Context(), root(), 1); err != nil {
		t.Errorf("got %v, want an administrator to be let", err)
	}
	w.reconcile()
	w.end(w.allocationOf(w.trial(1)), rm.CauseKilled)
	w.wantState(1, lifecycle.Canceled)
}
