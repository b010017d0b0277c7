package experiment

import (
	"strings"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/master/experiment/lifecycle"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/experiment/search"
	"github.com/det-deploy/det-deploy/master/rm"
)

const halving = `
name: asha
entrypoint: python3 train.py
searcher:
  {name: async_halving, metric: loss, time_metric: epochs, max_time: 16, num_rungs: 3, divisor: 4, max_trials: 6, max_concurrent_trials: 2}
hyperparameters: {lr: {type: double, minval: 0, maxval: 1}}
reproducibility: {experiment_seed: 7}
max_restarts: 1
`

func TestStoppedTrialCompletes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(halving)
	if v, _ := w.get(1); v.Trials != 2 {
		t.Fatalf("got %d trials, want the 2 that run at once", v.Trials)
	}
	first, second := w.place(1), w.place(2)
	w.report(1, 10, map[string]any{"loss": 0.1, "epochs": 1.0})
	w.report(2, 10, map[string]any{"loss": 0.2}) // the time metric is missing
	if got := w.trial(2); got.Stopped || got.Latest == nil {
		t.Errorf("got %+v, want a validation that the search does not count", got.Trial)
	}
	w.report(2, 10, map[string]any{"epochs": 1.0})
	if asked, _ := w.machine.asked(first); asked {
		t.Error("the best trial was asked to stop")
	}
	got := w.trial(2)
	if asked, _ := w.machine.asked(second); !asked || !got.Stopped || got.Life.State != lifecycle.StoppingCompleted {
		t.Fatalf("got signal %t and %+v, want the second trial to be stopped", asked, got.Trial)
	}
	if !strings.Contains(got.Reason, "0.2 is 2nd of 2") {
		t.Errorf("got reason %q, want its place", got.Reason)
	}
	if v, _ := w.get(1); v.Trials != 3 {
		t.Errorf("got %d trials, want a third in the place of the second", v.Trials)
	}
	// Its further reports have no effect.
	w.report(2, 20, map[string]any{"loss": 0.001, "epochs": 4.0})
	w.heed(second)
	if got := w.trial(2); got.Life.State != lifecycle.Completed || got.Life.Run != 1 {
		t.Errorf("got %+v, want it to be completed after one run", got.Trial)
	}
	if v, _ := w.get(1); v.Trials != 3 || v.State != lifecycle.Active {
		t.Errorf("got %d trials and %s, want 3 and ACTIVE", v.Trials, v.State)
	}
}

func TestATrialWithImpossibleHyperparametersIsReplaced(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(halving)
	id := w.place(1)
	if err := w.x.ReportInvalid(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	w.reconcile()
	if _, kill := w.machine.asked(id); kill {
		t.Error("it was killed before it could end by itself")
	}
	w.now = w.now.Add(11 * time.Second)
	w.reconcile()
	if _, kill := w.machine.asked(id); !kill {
		t.Error("it was not killed 10 s after the report")
	}
	w.end(id, rm.CauseKilled)
	if got := w.trial(1); got.Life.State != lifecycle.Completed {
		t.Errorf("got %s, want COMPLETED", got.Life.State)
	}
	if v, _ := w.get(1); v.Trials != 3 {
		t.Errorf("got %d trials, want a replacement", v.Trials)
	}
}

func TestAnExperimentIsCanceledWithoutNewTrials(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(halving)
	w.place(1)
	w.ask(1, lifecycle.Cancel)
	for _, id := range w.machine.open() {
		w.end(id, rm.CausePreempted)
	}
	if v, _ := w.wantState(1, lifecycle.Canceled); v.Trials != 2 {
		t.Errorf("got %d trials, want 2: none follows", v.Trials)
	}
}

func TestTrialWithoutReportsHasReason(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(halving)
	w.exit(w.place(1), 0)
	if got := w.trial(1).Reason; !strings.Contains(got, `no validation metric "loss"`) {
		t.Errorf("got reason %q, want what is missing", got)
	}
}

func TestBestIsRecomputedAfterReplacement(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(single)
	id := w.place(1)
	w.report(1, 10, map[string]any{"loss": 0.5})
	w.save(1, 10)
	w.report(1, 20, map[string]any{"loss": 0.1})
	w.end(id, rm.CauseAgentLost)
	w.place(1)
	w.report(1, 15, map[string]any{"loss": 0.4})
	x, trials := w.get(1)
	if x.Best.Metric != 0.4 || trials[0].Best.Metric != 0.4 || trials[0].Latest.Steps != 15 {
		t.Errorf("got best %v and %v, want 0.4: what was beyond the checkpoint is gone", x.Best.Metric, trials[0].Best.Metric)
	}
	if err := w.tryReport(1, 15, map[string]any{"loss": 0.3}); err == nil {
		t.Error("another value for the same step was taken")
	}
	if err := w.tryReport(1, 15, map[string]any{"loss": 0.4}); err != nil {
		t.Errorf("got %v for a repeated report, want none", err)
	}
}

// searched returns the inputs of the search with their decisions.
func (w *world) searched(id int32) []search.Event {
	w.Helper()
	events, err := w.x.History(w.Context(), id)
	if err != nil {
		w.Fatal(err)
	}
	var out []search.Event
	for _, e := range events {
		if e.Kind == record.Searched {
			out = append(out, *e.Search)
		}
	}
	return out
}
