package checkpoint_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/master/checkpoint"
	"github.com/det-deploy/det-deploy/master/experiment/config"
	"github.com/det-deploy/det-deploy/master/experiment/lifecycle"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/master/task"
	"github.com/det-deploy/det-deploy/test/storetest"
)

func waiting(t *testing.T, s *store.Store) []checkpoint.Deletion {
	t.Helper()
	all, err := checkpoint.Deletions(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// heard records that a program of a trial has reported.
func heard(t *testing.T, s *store.Store, trial int32) {
	t.Helper()
	err := write(t, s, func(tx *store.Tx) error {
		d, _, err := record.Docs().Trials.Get(context.WithoutCancel(t.Context()), tx, record.Key(trial))
		if err != nil {
			return err
		}
		d.Value.Heard = start
		return record.Docs().Trials.Put(tx, d.ID, record.Key(d.Value.Experiment), start, d.Value)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// The runs of an experiment with an invalid storage, image or pod spec end before their program
// reports. No task could delete anything either.
func TestExperimentThatStoredNothingNeedsNoTask(t *testing.T) {
	t.Parallel()
	s, q := storetest.New(t), &queue{}
	putExperiment(t, s, 1, lifecycle.Completed, configuration(0, 1, 1))
	putTrial(t, s, 1, lifecycle.Trial{State: lifecycle.Error, Run: 6, Restarts: 5})
	c := open(t, checkpoint.Config{Store: s, Tasks: q, Now: func() time.Time { return start }})
	ctx, leave := context.WithCancel(t.Context())
	asked := make(chan error, 1)
	go func() { asked <- c.DeleteTensorBoards(ctx, 1, 2) }() // pending since before
	pending := waiting(t, s)
	for ; len(pending) == 0; pending = waiting(t, s) {
		<-time.After(time.Millisecond)
	}
	leave()
	if <-asked == nil {
		t.Error("a deletion that its caller left has succeeded")
	}
	putExperiment(t, s, 1, lifecycle.Deleting, configuration(0, 1, 1))
	if left, err := c.DeleteAll(t.Context(), 1); left != 0 || err != nil {
		t.Fatalf("got %d left, error %v; want nothing", left, err)
	}
	if got := waiting(t, s); len(got) > 0 || len(pending) != 1 || !slices.Equal(q.ended, []rm.TaskID{rm.TaskID(pending[0].ID)}) {
		t.Errorf("got deletions %v and ended tasks %v, want the task of %v ended", got, q.ended, pending)
	}
}

func TestExperimentThatReportedNeedsTask(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	putExperiment(t, s, 1, lifecycle.Deleting, configuration(0, 1, 1))
	putTrial(t, s, 1, lifecycle.Trial{State: lifecycle.Completed, Run: 1})
	heard(t, s, 1)
	c := open(t, checkpoint.Config{Store: s, Tasks: &queue{}, Now: func() time.Time { return start }})
	if left, err := c.DeleteAll(t.Context(), 1); left != 1 || err != nil {
		t.Errorf("got %d left, error %v; want the event files", left, err)
	}
}

func TestForgetAllEndsPendingDeletions(t *testing.T) {
	t.Parallel()
	s, c := deleted(t)
	if left, err := c.DeleteAll(t.Context(), 1); left != 3 || err != nil {
		t.Fatalf("got %d left, error %v", left, err)
	}
	pending := waiting(t, s)
	for range 2 { // repeated, it changes nothing
		if err := c.ForgetAll(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
	}
	if all, err := checkpoint.ListAll(t.Context(), s); len(all)+len(waiting(t, s)) > 0 || err != nil {
		t.Errorf("got %v and deletions %v, error %v; want none", all, waiting(t, s), err)
	}
	for _, d := range pending { // the end of a task that was running
		next, err := c.Owner().Ended(t.Context(), task.RunEnd{Task: rm.TaskID(d.ID), Run: 1, Cause: rm.CauseKilled})
		if next != task.Done || err != nil {
			t.Errorf("got %q, error %v; want the task done", next, err)
		}
	}
}

func TestForgetAllRefusesCheckpointInUse(t *testing.T) {
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
	wantError(t, c.ForgetAll(t.Context(), 1), "checkpoint a: it is version 1 of model m")
}

func TestDirectories(t *testing.T) {
	t.Parallel()
	s, _ := deleted(t)
	heard(t, s, 1)
	var bucket int32
	err := write(t, s, func(tx *store.Tx) (err error) {
		bucket, err = checkpoint.StorageID(t.Context(), tx, config.StorageOf(*inBucket()))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := saved("c", 1, 3)
	elsewhere.Storage = bucket
	put(t, s, elsewhere)
	got, err := checkpoint.Directories(t.Context(), s, 1)
	if err != nil {
		t.Fatal(err)
	}
	boards := s.Meta().ClusterID + "/tensorboard/experiment/1"
	want := []string{"/ckpts/a", "/ckpts/b", "/ckpts/" + boards, "s3://b/c", "s3://b/" + boards}
	slices.Sort(want)
	if d := cmp.Diff(got, want); d != "" {
		t.Errorf("(-got +want):\n%s", d)
	}
}
