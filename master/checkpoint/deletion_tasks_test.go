package checkpoint_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/master/checkpoint"
	"github.com/det-deploy/det-deploy/master/config/container"
	"github.com/det-deploy/det-deploy/master/experiment/config"
	"github.com/det-deploy/det-deploy/master/experiment/lifecycle"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/master/task"
	"github.com/det-deploy/det-deploy/test/storetest"
)

// queue records the started and the ended tasks.
type queue struct {
	started chan task.StartOrder
	ended   []rm.TaskID
	// boards show every experiment.
	boards []rm.TaskID
}

// BoardsOf implements checkpoint.Tasks.
func (q *queue) BoardsOf(int32) []rm.TaskID { return q.boards }

// Start implements checkpoint.Tasks.
func (q *queue) Start(_ context.Context, o task.StartOrder) error {
	select {
	case q.started <- o:
	default:
	}
	return nil
}

// End implements checkpoint.Tasks.
func (q *queue) End(_ context.Context, id rm.TaskID, _ string) error {
	q.ended = append(q.ended, id)
	return nil
}

// Change implements checkpoint.Tasks.
func (q *queue) Change(context.Context, rm.JobID, rm.Change) error { return nil }

// next waits for the next task whose run is at least run.
func (q *queue) next(t *testing.T, c *checkpoint.Checkpoints, run int) task.StartOrder {
	t.Helper()
	deadline := time.After(time.Minute)
	for {
		select {
		case o := <-q.started:
			if o.Run >= run {
				return o
			}
		case <-time.After(time.Millisecond):
			c.Wake()
		case <-deadline:
			t.Fatal("no task was started")
		}
	}
}

// deletion returns a master that deletes checkpoints a and b of an experiment with a storage in S3.
func deletion(t *testing.T, now func() time.Time) (*store.Store, *checkpoint.Checkpoints, *queue) {
	t.Helper()
	return deletionWith(t, now, time.Nanosecond)
}

func deletionWith(t *testing.T, now func() time.Time, backoff time.Duration) (*store.Store, *checkpoint.Checkpoints, *queue) {
	t.Helper()
	s, q := storetest.New(t), &queue{started: make(chan task.StartOrder, 1)}
	x := configuration(0, 1, 1)
	putExperiment(t, s, 1, lifecycle.Completed, x)
	putTrial(t, s, 1, lifecycle.Trial{State: lifecycle.Completed})
	bucket := config.StorageOf(*inBucket())
	var storage int32
	err := write(t, s, func(tx *store.Tx) (err error) {
		storage, err = checkpoint.StorageID(t.Context(), tx, bucket)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	a, b := saved("a", 1, 1), saved("b", 1, 2)
	a.Storage, b.Storage = storage, storage
	put(t, s, a, b)
	c := open(t, checkpoint.Config{Store: s, Tasks: q, Now: now, Backoff: backoff})
	err = c.Delete(t.Context(), checkpoint.Order{UserID: 2, UUIDs: []string{"a", "b"}, Globs: checkpoint.AllFiles(), May: func(int32) error { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	ctx, stop := context.WithCancel(t.Context())
	go func() { done <- c.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return s, c, q
}

func TestDeletionTaskArguments(t *testing.T) {
	t.Parallel()
	_, c, q := deletion(t, time.Now)
	o := q.next(t, c, 1)
	if o.Kind != "CHECKPOINT_GC" || o.Name != "Checkpoint GC (Experiment 1)" || o.Slots != 0 || o.Pool != "default" || o.Username != "ann" || o.Run != 1 {
		t.Errorf("got %+v, want a task without slots in the experiment's pool", o)
	}
	if !o.Preemptible || o.PreemptionTimeout <= 0 {
		t.Errorf("got %+v, want a task that makes room, with time to end", o)
	}
	p, err := c.Owner().Run(t.Context(), task.RunOrder{Task: o.Task, Run: 1, Defaults: container.Default()})
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]any{}
	for _, f := range p.Files {
		var v any
		if err := json.Unmarshal(f.GetContent(), &v); err != nil {
			t.Fatal(err)
		}
		files[f.GetPath()[strings.LastIndexByte(f.GetPath(), '/')+1:]] = v
	}
	place, _ := files["storage_config.json"].(map[string]any)
	if place["type"] != "s3" || place["bucket"] != "b" || place["secret_key"] != "hush" {
		t.Errorf("got storage %v, want the one that the checkpoints were reported with, and its keys", place)
	}
	if !slices.Equal(toldOf(t, p), []string{"a", "b"}) {
		t.Errorf("got %v, want a and b", toldOf(t, p))
	}
	if p.Config.Environment.Image.CPU != "trainer:1" || !slices.Contains(p.Argv, "determined.exec.gc_checkpoints") {
		t.Errorf("got image %q and %v, want the experiment's image and the library's program", p.Config.Environment.Image.CPU, p.Argv)
	}
}

func TestFailedDeletionIsRetried(t *testing.T) {
	t.Parallel()
	s, c, q := deletion(t, time.Now)
	o := q.next(t, c, 1)
	end := task.RunEnd{Task: o.Task, Run: 1, Cause: rm.CauseExited, Code: pointer(int32(1)), Status: "the bucket is forbidden"}
	patch := []checkpoint.Patch{{UUID: "a"}}
	if err := c.PatchAll(t.Context(), checkpoint.Reporter{Task: string(o.Task)}, patch); err != nil {
		t.Fatal(err)
	}
	for range 2 { // a repeated report gets the same answer
		if next, err := c.Owner().Ended(t.Context(), end); next != task.Hold || err != nil {
			t.Fatalf("got %q, error %v; want hold", next, err)
		}
	}
	waiting, err := checkpoint.Deletions(t.Context(), s)
	if err != nil || len(waiting) != 1 || waiting[0].Failure != "the bucket is forbidden" || waiting[0].Tries != 1 {
		t.Fatalf("got %+v, error %v; want one deletion that failed once", waiting, err)
	}
	again := q.next(t, c, 2)
	if again.Run != 2 || again.Task != o.Task {
		t.Errorf("got run %d of %s, want run 2 of %s", again.Run, again.Task, o.Task)
	}
	p, err := c.Owner().Run(t.Context(), task.RunOrder{Task: o.Task, Run: 2})
	if err != nil || !slices.Equal(toldOf(t, p), []string{"b"}) {
		t.Errorf("got %v, error %v; want b alone", p.Argv, err)
	}
	end.Run, end.Code = 2, pointer(int32(0))
	for range 2 {
		if next, err := c.Owner().Ended(t.Context(), end); next != task.Done || err != nil {
			t.Fatalf("got %q, error %v; want done", next, err)
		}
	}
	for _, uuid := range []string{"a", "b"} {
		if got := stateOf(t, s, uuid); got != checkpoint.Deleted {
			t.Errorf("got %s %s, want DELETED", uuid, got)
		}
	}
}

func TestOnlyDeletionTaskPatchesDeleting(t *testing.T) {
	t.Parallel()
	s, c, q := deletion(t, time.Now)
	o := q.next(t, c, 1)
	left := []checkpoint.Patch{{UUID: "a", Resources: map[string]int64{"optimizer": 1}}}
	err := write(t, s, func(tx *store.Tx) error {
		return record.Docs().Trials.Put(tx, record.Key(1), record.Key(1), start, record.Trial{ID: 1, Tasks: []string{"1.trial"}})
	})
	if err != nil {
		t.Fatal(err)
	}
	wantError(t, c.PatchAll(t.Context(), checkpoint.Reporter{Task: "1.trial"}, left), "is being deleted")
	if err := c.PatchAll(t.Context(), checkpoint.Reporter{Task: string(o.Task)}, left); err != nil {
		t.Fatal(err)
	}
	if got := stateOf(t, s, "a"); got != checkpoint.PartiallyDeleted {
		t.Errorf("got %s, want PARTIALLY_DELETED", got)
	}
	if err := c.PatchAll(t.Context(), checkpoint.Reporter{Task: "1.trial"}, []checkpoint.Patch{{UUID: "a"}}); err != nil {
		t.Fatal(err)
	}
	wantError(t, c.PatchAll(t.Context(), checkpoint.Reporter{Task: "2.other"}, left), "does not belong to this task")
}

// A request to delete TensorBoard files ends with the task that deletes them.
func TestTensorBoardDeletionWaitsForItsTask(t *testing.T) {
	t.Parallel()
	_, c, q := deletionWith(t, time.Now, time.Hour)
	ofCheckpoints := q.next(t, c, 1).Task
	request := func() <-chan error {
		out := make(chan error, 1)
		go func() { out <- c.DeleteTensorBoards(t.Context(), 1, 2) }()
		return out
	}
	first := request()
	o := q.nextOther(t, c, ofCheckpoints)
	select {
	case err := <-first:
		t.Fatalf("the request ended with %v before its task", err)
	case <-time.After(10 * time.Millisecond):
	}
	end := func(run int, code int32) {
		t.Helper()
		if _, err := c.Owner().Ended(t.Context(), task.RunEnd{Task: o.Task, Run: run, Cause: rm.CauseExited, Code: &code, Status: "the bucket is forbidden"}); err != nil {
			t.Fatal(err)
		}
	}
	end(1, 1)
	wantError(t, <-first, "are not deleted yet: the bucket is forbidden; the next attempt is at ")
	second := request() // it tries the same deletion again
	if again := q.next(t, c, 2); again.Task != o.Task {
		t.Fatalf("got task %s, want %s again", again.Task, o.Task)
	}
	end(2, 0)
	if err := <-second; err != nil {
		t.Error(err)
	}
}

// nextOther waits for another task than the given one.
func (q *queue) nextOther(t *testing.T, c *checkpoint.Checkpoints, than rm.TaskID) task.StartOrder {
	t.Helper()
	for {
		if o := q.next(t, c, 1); o.Task != than {
			return o
		}
	}
}
