package experiment

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/det-deploy/det-deploy/master/checkpoint"
	"github.com/det-deploy/det-deploy/master/experiment/lifecycle"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/master/task"
)

// saveAs reports a checkpoint of trial 1 from an allocation.
func (w *world) saveAs(from rm.AllocationID, steps int32, state checkpoint.State) (string, error) {
	w.Helper()
	id := fmt.Sprintf("00000000-0000-4000-8000-%012d", steps)
	rec := checkpoint.Record{UUID: id, Experiment: 1, Trial: 1, Reported: w.now, State: state, Steps: steps, Resources: map[string]int64{"weights": 1}}
	news := Checkpointed{UUID: id, Trial: 1, Steps: steps, Allocation: string(from)}
	return id, w.x.Checkpointed(w.Context(), news, func(ctx context.Context, tx *store.Tx) error { return checkpoint.Put(ctx, tx, rec) })
}

// mustSave calls saveAs and fails the test on an error.
func (w *world) mustSave(from rm.AllocationID, steps int32, state checkpoint.State) string {
	w.Helper()
	id, err := w.saveAs(from, steps, state)
	if err != nil {
		w.Fatal(err)
	}
	return id
}

func (w *world) wantLatest(why, want string) {
	w.Helper()
	if got := w.trial(1).Life.Latest; got != want {
		w.Errorf("%s: the next run would start from %q, want %q", why, got, want)
	}
}

// removeFiles reports the deletion of a checkpoint by a program of its trial.
func (w *world) removeFiles(uuid string) {
	w.Helper()
	by := checkpoint.Reporter{Task: w.trial(1).Task()}
	err := w.x.Patched(w.Context(), 1, func(ctx context.Context, tx *store.Tx) error {
		return checkpoint.PatchIn(ctx, tx, by, []checkpoint.Patch{{UUID: uuid}})
	})
	if err != nil {
		w.Fatal(err)
	}
}

func TestRunStartsFromUsableCheckpoint(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(single)
	run := w.place(1)
	one, two := w.mustSave(run, 10, checkpoint.Completed), w.mustSave(run, 20, checkpoint.Completed)
	w.wantLatest("after two reports", two)
	w.mustSave(run, 30, checkpoint.Error)
	w.wantLatest("after an upload that failed", two)
	w.mustSave(run, 10, checkpoint.Completed)
	w.wantLatest("after a report that is repeated late", two)
	w.removeFiles(two)
	w.wantLatest("after the program deleted its latest", one)
	w.mustSave(run, 20, checkpoint.Completed)
	w.wantLatest("after a late repetition of what was deleted", one)
	w.end(run, rm.CauseAgentLost)
	if got := w.trial(1); got.Base != 10 || got.Life.Run != 2 {
		t.Errorf("got run %d from step %d, want run 2 from step 10", got.Life.Run, got.Base)
	}
	w.place(1)
	w.removeFiles(one)
	w.wantLatest("after the program deleted all", "")
}

func TestALeftOverOfAnEarlierRunIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(single)
	old := w.place(1)
	saved := w.mustSave(old, 10, checkpoint.Completed)
	w.report(1, 15, map[string]any{"loss": 3.0})
	w.end(old, rm.CauseAgentLost)
	for _, when := range []string{"waits", "runs"} {
		if _, err := w.saveAs(old, 20, checkpoint.Completed); err == nil || !strings.Contains(err.Error(), "a later run") {
			t.Errorf("while the next run %s: got error %v, want an error with the later run", when, err)
		}
		w.wantLatest("while the next run "+when, saved)
		if when == "waits" {
			w.place(1)
		}
	}
	if err := w.reportRun(1, 1, 20, map[string]any{"loss": 2.0}); err == nil || !strings.Contains(err.Error(), "its current run is 2") {
		t.Errorf("a metric of run 1: got error %v", err)
	}
	w.restart()
	w.mustSave(w.allocationOf(w.trial(1)), 30, checkpoint.Completed)
	if _, err := w.saveAs(old, 40, checkpoint.Completed); err == nil {
		t.Error("after a restart a checkpoint of the earlier run is taken in")
	}
}

// hesitant is an owner that fails to answer the end of a run, like one whose store is unavailable.
type hesitant struct {
	task.Owner

	failures *atomic.Int32
}

func (h hesitant) Ended(ctx context.Context, e task.RunEnd) (task.Next, error) {
	if h.failures.Add(-1) >= 0 {
		return "", errors.New("no answer")
	}
	return h.Owner.Ended(ctx, e)
}

// The resource manager does not report the end again for a run that was never scheduled.
func TestEndOfRunIsRetried(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var failures atomic.Int32
	w.own = func(o task.Owner) task.Owner { return hesitant{o, &failures} }
	w.restart()
	w.create(single)
	waiting := w.allocationOf(w.trial(1))
	failures.Store(1)
	w.machine.forget(waiting)
	if err := w.tasks.Ended(w.Context(), waiting, rm.End{Cause: rm.CausePreempted, Reason: "taken out of the queue", At: w.now}); err == nil {
		t.Fatal("the owner's failure is not said")
	}
	w.reconcile()
	if next := w.allocationOf(w.trial(1)); next == "" || next == waiting {
		t.Errorf("got allocation %q after the next look, want that of run 2", next)
	}
}

// Otherwise the client library would end the program with an error although its first report was
// stored.
func TestReportInvalidIsIdempotent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(single)
	run := w.place(1)
	for range 2 {
		if err := w.x.ReportInvalid(w.Context(), 1); err != nil {
			t.Fatal(err)
		}
	}
	said := 0
	for _, k := range w.kinds(1) {
		if k == record.Reported {
			said++
		}
	}
	if said != 1 {
		t.Errorf("got %d events, want one", said)
	}
	w.exit(run, 0)
	w.wantState(1, lifecycle.Completed)
	if err := w.x.ReportInvalid(w.Context(), 1); err == nil {
		t.Error("a trial that has ended is taken to exit early")
	}
}

// While a kill is in progress, each reconciliation repeats it without writing to the store.
func TestAKillIsStoredOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(single)
	w.place(1)
	w.ask(1, lifecycle.Kill)
	if err := w.store.Close(); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		w.reconcile()
	}
}
