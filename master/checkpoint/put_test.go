package checkpoint_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/master/checkpoint"
	"github.com/det-deploy/det-deploy/master/experiment/lifecycle"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/test/storetest"
)

var start = time.Date(2026, 11, 23, 3, 0, 0, 0, time.UTC)

func saved(uuid string, trial, steps int32) checkpoint.Record {
	return checkpoint.Record{
		UUID: uuid, Experiment: 1, Trial: trial, Steps: steps, Reported: start.Add(time.Duration(steps) * time.Second),
		State: checkpoint.Completed, Resources: map[string]int64{"weights": int64(steps)},
	}
}

// write runs one transaction.
func write(t *testing.T, s *store.Store, fn func(tx *store.Tx) error) error {
	t.Helper()
	return s.Write(t.Context(), fn)
}

func put(t *testing.T, s *store.Store, all ...checkpoint.Record) {
	t.Helper()
	for _, r := range all {
		if err := write(t, s, func(tx *store.Tx) error { return checkpoint.Put(t.Context(), tx, r) }); err != nil {
			t.Fatal(err)
		}
	}
}

// putTrial stores the record of a trial.
func putTrial(t *testing.T, s *store.Store, id int32, life lifecycle.Trial) {
	t.Helper()
	err := write(t, s, func(tx *store.Tx) error {
		doc := record.Trial{ID: id, Experiment: 1, Life: life}
		if life.WarmStart != "" {
			if err := record.Docs().Sources.Put(tx, record.Key(id), life.WarmStart, start, struct{}{}); err != nil {
				return err
			}
		}
		return record.Docs().Trials.Put(tx, record.Key(id), record.Key(1), start, doc)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func mark(t *testing.T, s *store.Store, uuids ...string) error {
	t.Helper()
	return write(t, s, func(tx *store.Tx) error {
		return checkpoint.MarkForDeletion(t.Context(), tx, nil, checkpoint.Deletion{Globs: checkpoint.AllFiles(), Asked: start}, uuids)
	})
}

func stateOf(t *testing.T, s *store.Store, uuid string) checkpoint.State {
	t.Helper()
	rec, found, err := checkpoint.Get(t.Context(), s, uuid)
	if err != nil || !found {
		t.Fatalf("get %s: found %t, error %v", uuid, found, err)
	}
	return rec.State
}

func wantError(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("got no error, want one with %q", words)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("got %q, want %q in it", err, w)
		}
	}
}

func TestNeedsLatestOfOpenTrial(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	put(t, s, saved("a", 1, 10), saved("b", 1, 20), saved("closed", 2, 15))
	putTrial(t, s, 1, lifecycle.Trial{State: lifecycle.Paused, Latest: "b"})
	putTrial(t, s, 2, lifecycle.Trial{State: lifecycle.Completed, Latest: "closed"})
	wantError(t, mark(t, s, "a", "b"), "checkpoint b: trial 1 continues from it", "no checkpoint was deleted")
	if got := stateOf(t, s, "a"); got != checkpoint.Completed {
		t.Errorf("got a %s beside a refused one, want COMPLETED", got)
	}
	if err := mark(t, s, "a", "closed", "a"); err != nil {
		t.Fatal(err)
	}
	for _, uuid := range []string{"a", "closed"} {
		if got := stateOf(t, s, uuid); got != checkpoint.Deleting {
			t.Errorf("got %s %s, want DELETING", uuid, got)
		}
	}
	putTrial(t, s, 1, lifecycle.Trial{State: lifecycle.Completed, Latest: "b"})
	if err := mark(t, s, "b"); err != nil {
		t.Fatal(err)
	}
}

func TestNeedsSourceOfTrials(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	put(t, s, saved("a", 1, 10), saved("b", 1, 20))
	putTrial(t, s, 1, lifecycle.Trial{State: lifecycle.Completed, Latest: "b"})
	putTrial(t, s, 12, lifecycle.Trial{State: lifecycle.Completed, WarmStart: "a"})
	wantError(t, mark(t, s, "a"), "checkpoint a: trial 12 started from it")
	source := checkpoint.SourceOf(3)
	err := write(t, s, func(tx *store.Tx) error {
		_, err := checkpoint.Refer(t.Context(), tx, source, "b")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	wantError(t, mark(t, s, "b"), "checkpoint b: trials of experiment 3 start from it")
}

func TestCheckSourceRefusesDeletingExperiment(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	put(t, s, saved("a", 1, 10))
	err := write(t, s, func(tx *store.Tx) error {
		return record.Docs().Experiments.Put(tx, record.Key(1), "", start, record.Experiment{ID: 1, State: lifecycle.Deleting})
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = checkpoint.CheckSource(t.Context(), s, "a")
	wantError(t, err, "experiment 1 is being deleted")
}

func TestARepeatedReportIsStoredOnce(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	put(t, s, saved("a", 1, 10))
	again := saved("a", 1, 10)
	again.Reported = start.Add(time.Hour)
	put(t, s, again)
	if rec, _, _ := checkpoint.Get(t.Context(), s, "a"); !rec.Reported.Equal(start.Add(10 * time.Second)) {
		t.Errorf("got reported %s, want the first report's time", rec.Reported)
	}
	if err := mark(t, s, "a"); err != nil {
		t.Fatal(err)
	}
	put(t, s, again)
	if got := stateOf(t, s, "a"); got != checkpoint.Deleting {
		t.Errorf("a late repetition made it %s again, want DELETING", got)
	}
	err := write(t, s, func(tx *store.Tx) error { return checkpoint.Put(t.Context(), tx, saved("a", 2, 10)) })
	wantError(t, err, "checkpoint a belongs to trial 1")
}

func TestCheckSourceRefusesDeleting(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	put(t, s, saved("a", 1, 10))
	version := checkpoint.VersionOf(7, "mnist", 3)
	refer := func(uuid string) error {
		return write(t, s, func(tx *store.Tx) error {
			_, err := checkpoint.Refer(t.Context(), tx, version, uuid)
			return err
		})
	}
	if err := refer("a"); err != nil {
		t.Fatal(err)
	}
	wantError(t, mark(t, s, "a"), "checkpoint a: it is version 3 of model mnist")
	if err := write(t, s, func(tx *store.Tx) error { return checkpoint.Release(tx, version) }); err != nil {
		t.Fatal(err)
	}
	if err := mark(t, s, "a"); err != nil {
		t.Fatal(err)
	}
	wantError(t, refer("a"), "checkpoint a cannot be used: it is DELETING")
	wantError(t, refer("b"), "checkpoint 'b' not found")
	_, err := checkpoint.CheckSource(t.Context(), s, "a")
	wantError(t, err, "DELETING")
}

func TestStepsOf(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		value any
		want  int32
		wrong bool
	}{{nil, 0, false}, {float64(12), 12, false}, {1.5, 0, true}, {float64(-1), 0, true}, {"12", 0, true}, {1e300, 0, true}} {
		got, err := checkpoint.StepsOf(map[string]any{"steps_completed": tt.value})
		if got != tt.want || (err != nil) != tt.wrong {
			t.Errorf("%v: got %d, error %v", tt.value, got, err)
		}
	}
	if got, err := checkpoint.StepsOf(nil); got != 0 || err != nil {
		t.Error(errors.New("want 0 for no metadata"))
	}
}
