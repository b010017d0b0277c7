package checkpoint_test

import (
	"strings"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/master/api/status"
	"github.com/det-deploy/det-deploy/master/checkpoint"
	"github.com/det-deploy/det-deploy/master/experiment/lifecycle"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/master/task"
	"github.com/det-deploy/det-deploy/test/storetest"
)

// deleted returns a store with a DELETING experiment that has two checkpoints.
func deleted(t *testing.T) (*store.Store, *checkpoint.Checkpoints) {
	t.Helper()
	s := storetest.New(t)
	putExperiment(t, s, 1, lifecycle.Deleting, configuration(0, 1, 1))
	putTrial(t, s, 1, lifecycle.Trial{State: lifecycle.Completed, Run: 1, Latest: "b"})
	put(t, s, saved("a", 1, 1), saved("b", 1, 2))
	return s, open(t, checkpoint.Config{Store: s, Tasks: &queue{}, Now: func() time.Time { return start }})
}

// endAll ends the tasks of all deletions with an exit code.
func endAll(t *testing.T, s *store.Store, c *checkpoint.Checkpoints, code int32) (tasks int) {
	t.Helper()
	all, err := checkpoint.Deletions(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range all {
		end := task.RunEnd{Task: rm.TaskID(d.ID), Run: d.Tries + 1, Cause: rm.CauseExited, Code: &code, Status: "no such bucket"}
		if _, err := c.Owner().Ended(t.Context(), end); err != nil {
			t.Fatal(err)
		}
	}
	return len(all)
}

func TestDeleteAllWaitsForFiles(t *testing.T) {
	t.Parallel()
	s, c := deleted(t)
	for range 2 { // repeated while tasks run, it adds nothing
		if left, err := c.DeleteAll(t.Context(), 1); left != 3 || err != nil {
			t.Fatalf("got %d left, error %v; want two checkpoints and the event files", left, err)
		}
	}
	if n := endAll(t, s, c, 0); n != 2 {
		t.Errorf("got %d tasks, want one for checkpoints and one for event files", n)
	}
	if left, err := c.DeleteAll(t.Context(), 1); left != 0 || err != nil {
		t.Fatalf("got %d left, error %v; want nothing", left, err)
	}
	if all, err := checkpoint.ListAll(t.Context(), s); len(all) > 0 || err != nil {
		t.Errorf("got %v, error %v; want no record", all, err)
	}
}

func TestDeleteAllRefusesCheckpointInUse(t *testing.T) {
	t.Parallel()
	s, c := deleted(t)
	putExperiment(t, s, 1, lifecycle.Completed, configuration(0, 1, 1))
	err := write(t, s, func(tx *store.Tx) error {
		_, err := checkpoint.Refer(t.Context(), tx, checkpoint.VersionOf(1, "m", 1), "a")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	putExperiment(t, s, 1, lifecycle.Deleting, configuration(0, 1, 1))
	_, err = c.DeleteAll(t.Context(), 1)
	wantError(t, err, "checkpoint a: it is version 1 of model m")
	if got := stateOf(t, s, "b"); got != checkpoint.Completed {
		t.Errorf("got b %s, want COMPLETED beside one that is needed", got)
	}
}

func TestDeleteAllReportsRepeatedFailure(t *testing.T) {
	t.Parallel()
	s, c := deleted(t)
	for range 3 {
		if left, err := c.DeleteAll(t.Context(), 1); left != 3 || err != nil {
			t.Fatalf("got %d left, error %v", left, err)
		}
		endAll(t, s, c, 1)
	}
	_, err := c.DeleteAll(t.Context(), 1)
	wantError(t, err, "deleting files failed 3 times: no such bucket", "the log of task")
	// A repeated deletion retries and succeeds.
	if left, err := c.DeleteAll(t.Context(), 1); left != 3 || err != nil {
		t.Fatalf("got %d left, error %v; want another try", left, err)
	}
	endAll(t, s, c, 0)
	if left, err := c.DeleteAll(t.Context(), 1); left != 0 || err != nil {
		t.Errorf("got %d left, error %v; want nothing", left, err)
	}
}

func TestListingKeepsState(t *testing.T) {
	t.Parallel()
	s, c := deleted(t)
	order := checkpoint.Order{UUIDs: []string{"b"}, May: func(int32) error { return nil }}
	if err := c.Delete(t.Context(), order); err != nil {
		t.Fatal(err)
	}
	if got := stateOf(t, s, "b"); got != checkpoint.Completed {
		t.Errorf("got %s while its files are listed, want COMPLETED", got)
	}
	endAll(t, s, c, 0)
	if got := stateOf(t, s, "b"); got != checkpoint.Completed {
		t.Errorf("got %s, want COMPLETED: the task reported nothing", got)
	}
}

func TestPolicyWithoutMetric(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	x := configuration(1, 1, 1)
	x.Searcher.Metric = nil
	putExperiment(t, s, 1, lifecycle.Completed, x)
	putTrial(t, s, 1, lifecycle.Trial{State: lifecycle.Completed, Run: 1})
	put(t, s, saved("a", 1, 1), saved("b", 1, 2))
	c := open(t, checkpoint.Config{Store: s, Tasks: &queue{}})
	plan, err := c.Preview(t.Context(), 1, checkpoint.Counts{})
	if err != nil || len(plan.Delete) != 1 || plan.Delete[0].UUID != "a" {
		t.Errorf("got %+v, error %v; want the earlier checkpoint deleted", plan, err)
	}
}

func TestTensorBoardFilesAreKeptForTheirReaders(t *testing.T) {
	t.Parallel()
	c := open(t, checkpoint.Config{Store: storetest.New(t), Tasks: &queue{boards: []rm.TaskID{"board"}}})
	for _, err := range []error{c.CheckReaders(7), c.DeleteTensorBoards(t.Context(), 7, 1)} {
		if status.Of(err) != status.FailedPrecondition || !strings.Contains(err.Error(), "TensorBoard board shows them") {
			t.Errorf("got %v, want a refusal with the reader", err)
		}
	}
}
