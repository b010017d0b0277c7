package checkpoint

import (
	"context"
	"maps"
	"slices"

	"github.com/det-deploy/det-deploy/master/api/status"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/store"
)

// Patch lists the files that remain in a checkpoint.
type Patch struct {
	UUID      string
	Resources map[string]int64
}

// afterDeletion returns the record with the remaining files and the resulting state.
func (r Record) afterDeletion(files map[string]int64) Record {
	before := r.State
	if before == Deleting {
		before = r.Before
	}
	switch {
	case len(files) == 0:
		r.State, files = Deleted, nil
	case before == Completed && maps.Equal(files, r.Resources):
		r.State = Completed
	default:
		r.State = PartiallyDeleted
	}
	r.Resources, r.Before = files, ""
	return r
}

// Reporter is the sender of a Patch: the task of a deletion for its checkpoints, the task of a trial
// for its own checkpoints, or a user who may delete them.
type Reporter struct {
	// Task is the task that reports, empty for a user.
	Task string
	// May returns an error if the user may not change the checkpoints of an experiment.
	May func(experiment int32) error
}

// PatchAll stores the remaining files of checkpoints, all or none. It is idempotent. It returns an
// error if the reporter may not report a checkpoint or the files are invalid.
func (c *Checkpoints) PatchAll(ctx context.Context, by Reporter, all []Patch) error {
	return c.cfg.Store.Write(ctx, func(tx *store.Tx) error { return PatchIn(ctx, tx, by, all) })
}

// PatchIn is PatchAll inside the caller's transaction.
func PatchIn(ctx context.Context, tx *store.Tx, by Reporter, all []Patch) error {
	for _, p := range all {
		if err := checkFiles(p.UUID, p.Resources); err != nil {
			return err
		}
		rec, found, err := Get(ctx, tx, p.UUID)
		if err != nil {
			return err
		}
		if !found {
			return NotFound(p.UUID)
		}
		if err := by.check(ctx, tx, rec); err != nil {
			return err
		}
		if rec.State == Deleted && len(p.Resources) == 0 {
			continue
		}
		if err := putRecord(tx, rec.afterDeletion(p.Resources)); err != nil {
			return err
		}
	}
	return nil
}

// check returns an error if the reporter may not report on a checkpoint. While it is DELETING, only
// the task of its deletion may.
func (by Reporter) check(ctx context.Context, tx *store.Tx, rec Record) error {
	switch {
	case by.Task != "" && by.Task == rec.Deletion:
		return nil
	case rec.State == Deleting:
		return status.New(status.FailedPrecondition, "checkpoint %s is being deleted", rec.UUID)
	case by.Task == "":
		return by.May(rec.Experiment)
	}
	trial, _, err := record.Docs().Trials.Get(ctx, tx, trialKey(rec.Trial))
	if err != nil || slices.Contains(trial.Value.Tasks, by.Task) {
		return err
	}
	return status.New(status.PermissionDenied, "checkpoint %s does not belong to this task", rec.UUID)
}
