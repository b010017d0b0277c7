package experiment

import (
	"context"
	"errors"
	"testing"

	"github.com/det-deploy/det-deploy/master/experiment/change"
	"github.com/det-deploy/det-deploy/master/experiment/search"
	"github.com/det-deploy/det-deploy/master/store"
)

// The state of the search in memory is discarded and rebuilt from the store.
func TestFailedWriteIsDiscarded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(halving)
	w.place(1)
	w.place(2)
	w.report(1, 10, map[string]any{"loss": 0.1, "epochs": 1.0})
	e, err := w.x.reconciler.reg.find(1)
	if err != nil {
		t.Fatal(err)
	}
	broken := errors.New("the disk is gone")
	err = w.x.reconciler.submit(t.Context(), e, &job{do: func(_ context.Context, _ *store.Tx, d *change.Draft) error {
		if err := d.Reports().Validate(2, 10, map[string]any{"loss": 0.2, "epochs": 1.0}); err != nil {
			return err
		}
		if created := len(d.Created()); created != 1 {
			t.Errorf("got %d new trials, want 1: the second was stopped", created)
		}
		return broken
	}})
	if !errors.Is(err, broken) {
		t.Errorf("got %v, want why it was not stored", err)
	}
	if v, _ := w.get(1); v.Trials != 2 || w.trial(2).Stopped {
		t.Errorf("got %d trials, and the second was stopped: %t; want neither", v.Trials, w.trial(2).Stopped)
	}
	w.report(2, 10, map[string]any{"loss": 0.05, "epochs": 1.0})
	got := w.searched(1)
	last := got[len(got)-1]
	if last.Input.Metric != 0.05 || last.Decision.Actions[0].Kind != search.RankTrial || last.Decision.Actions[0].Rank.Place != 1 {
		t.Errorf("got %+v, want the second trial to be first of 2", last)
	}
	if v, _ := w.get(1); v.Trials != 2 {
		t.Errorf("got %d trials, want 2", v.Trials)
	}
	w.restart()
	w.report(2, 20, map[string]any{"loss": 0.04, "epochs": 2.0})
}
