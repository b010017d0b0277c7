package checkpoint

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/experiment/lifecycle"
	"github.com/det-deploy/det-deploy/master/experiment/program"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/master/task"
	"github.com/det-deploy/det-deploy/master/task/spec"
)

// Owner returns the owner of the deletion tasks. A task has the ID of its deletion, and its runs are
// numbered like the deletion's attempts.
func (c *Checkpoints) Owner() task.Owner { return &deletionTasks{c} }

type deletionTasks struct{ *Checkpoints }

// deletionOf returns the deletion of a task.
func (o *deletionTasks) deletionOf(ctx context.Context, id rm.TaskID) (Deletion, bool, error) {
	d, found, err := deletions().Get(ctx, o.cfg.Store, string(id))
	return d.Value, found, err
}

// directory is the container directory of the task's input files.
const directory = "/run/determined/checkpoint_gc/"

// Run implements task.Owner. The task runs the library's program in the experiment's image with the
// checkpoints of this deletion.
func (o *deletionTasks) Run(ctx context.Context, r task.RunOrder) (spec.Program, error) {
	d, found, err := o.deletionOf(ctx, r.Task)
	if err != nil {
		return spec.Program{}, err
	}
	if !found {
		return spec.Program{}, status.New(status.FailedPrecondition, "nothing left to delete")
	}
	x, err := ConfigOf(ctx, o.cfg.Store, d.Experiment)
	if err != nil {
		return spec.Program{}, err
	}
	if x.CheckpointStorage, err = StorageOf(ctx, o.cfg.Store, d.Experiment, d.Storage); err != nil {
		return spec.Program{}, err
	}
	zero := 0
	x.Resources.SlotsPerTrial = &zero
	args := []string{"-m", "determined.exec.gc_checkpoints", "--experiment-id", fmt.Sprint(d.Experiment)}
	var files []*apiv1.File
	for _, f := range []struct {
		flag, name string
		content    any
	}{
		{"--storage-config", "storage_config.json", x.ShowToTrial()["checkpoint_storage"]},
		{"--delete", "delete.json", textList(d.UUIDs)},
		{"--globs", "globs.json", textList(d.Globs)},
	} {
		data, err := json.Marshal(f.content)
		if err != nil {
			return spec.Program{}, fmt.Errorf("write %s of deletion %s: %w", f.name, d.ID, err)
		}
		files = append(files, &apiv1.File{Path: directory + f.name, Content: data, Mode: 0o400})
		args = append(args, f.flag, directory+f.name)
	}
	if d.TensorBoards {
		args = append(args, "--delete-tensorboards")
	}
	p := program.Library(x, r.Defaults, args...)
	p.Files = files
	return p, nil
}

// textList returns a copy of all that is not nil, so that JSON encodes it as a list and not as null.
func textList(all []string) []string { return append([]string{}, all...) }

// Context implements task.Owner. Deletion tasks have no context directory.
func (o *deletionTasks) Context(context.Context, rm.TaskID) (int64, iter.Seq2[[]byte, error], error) {
	return 0, func(func([]byte, error) bool) {}, nil
}

// Ended implements task.Owner. A completed deletion is removed from the store; a failed one is
// retried.
func (o *deletionTasks) Ended(ctx context.Context, e task.RunEnd) (task.Next, error) {
	next := task.Hold
	err := o.cfg.Store.Write(ctx, func(tx *store.Tx) error {
		doc, found, err := deletions().Get(ctx, tx, string(e.Task))
		if err != nil {
			return err
		}
		if !found {
			next = task.Done
			return nil
		}
		if e.Run <= doc.Value.Tries { // the end was reported before
			return nil
		}
		done, err := o.settle(ctx, tx, doc.Value, e)
		if done {
			next = task.Done
		}
		return err
	})
	if err != nil {
		return "", err
	}
	o.Wake()
	return next, nil
}

// settle updates a deletion after the end of a run, and reports whether the deletion is complete.
func (o *deletionTasks) settle(ctx context.Context, tx *store.Tx, d Deletion, e task.RunEnd) (done bool, err error) {
	left, err := waitingFor(ctx, tx, d)
	if err != nil {
		return false, err
	}
	succeeded := e.Cause == rm.CauseExited && e.Code != nil && *e.Code == 0
	switch {
	case succeeded:
		// The program reports deleted files before it exits. A checkpoint without a report had no
		// files.
		for _, rec := range left {
			if rec.State != Deleting {
				continue
			}
			if err := putRecord(tx, rec.afterDeletion(nil)); err != nil {
				return false, err
			}
		}
		return true, o.finish(ctx, tx, d)
	case len(left) == 0 && !d.TensorBoards:
		return true, o.finish(ctx, tx, d)
	}
	d.UUIDs = uuidsOf(left)
	d.Tries++
	d.Failure = e.Status
	d.Due = o.cfg.Now().Add(waitAfter(o.cfg.Backoff, d.Tries, e.Cause))
	return false, putDeletion(tx, d)
}

// finish deletes a completed deletion from the store. If the experiment is being deleted, it records
// that the TensorBoard files are deleted.
func (o *deletionTasks) finish(ctx context.Context, tx *store.Tx, d Deletion) error {
	x, _, err := record.Docs().Experiments.Get(ctx, tx, record.Key(d.Experiment))
	if err != nil {
		return err
	}
	if d.TensorBoards && x.Value.State == lifecycle.Deleting {
		if err := cleaned().Put(tx, record.Key(d.Experiment), "", time.Time{}, struct{}{}); err != nil {
			return err
		}
	}
	return deletions().Delete(tx, d.ID)
}

// longest is the maximum time between two attempts.
const longest = time.Hour

// waitAfter returns the delay before the next attempt. If the cluster stopped the program, the next
// attempt starts immediately.
func waitAfter(first time.Duration, tries int, cause rm.Cause) time.Duration {
	if cause == rm.CauseAgentLost || cause == rm.CausePreempted {
		return 0
	}
	return min(first<<min(tries-1, 20), longest)
}

// waitingFor returns the checkpoints of a deletion that are still pending, without those that a
// later deletion has taken over.
func waitingFor(ctx context.Context, r store.Reader, d Deletion) ([]Record, error) {
	docs, err := records().ByIDs(ctx, r, d.UUIDs)
	var left []Record
	for _, doc := range docs {
		rec := doc.Value
		if rec.Deletion == d.ID && (rec.State == Deleting || len(d.Globs) == 0 && rec.State.Deletable()) {
			left = append(left, rec)
		}
	}
	return left, err
}

// ChangeJob implements task.Owner.
func (o *deletionTasks) ChangeJob(ctx context.Context, by *apiv1.User, id rm.JobID, ch rm.Change) error {
	d, found, err := o.deletionOf(ctx, rm.TaskID(id))
	if err != nil {
		return err
	}
	if !found {
		return rm.ErrUnknownJob
	}
	x, _, err := record.Docs().Experiments.Get(ctx, o.cfg.Store, record.Key(d.Experiment))
	if err != nil {
		return err
	}
	if !by.GetAdmin() && by.GetId() != x.Value.UserID {
		return status.New(status.PermissionDenied, "only administrators and %s may change this job", x.Value.Username)
	}
	return o.cfg.Tasks.Change(ctx, id, ch)
}
