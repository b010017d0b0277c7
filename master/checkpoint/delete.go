package checkpoint

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/det-deploy/det-deploy/internal/wait"
	"github.com/det-deploy/det-deploy/master/api/status"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/store"
)

// Order is a user's request to delete checkpoints.
type Order struct {
	UserID int32
	UUIDs  []string
	// Globs select the files to delete. Without globs, a task only lists the existing files.
	Globs []string
	// May returns an error if the user may not change the checkpoints of an experiment.
	May func(experiment int32) error
}

// Delete marks checkpoints for deletion, all or none; tasks delete the files later. It returns an
// error if a checkpoint is in use or the user may not delete it.
func (c *Checkpoints) Delete(ctx context.Context, o Order) error {
	now := c.cfg.Now()
	err := c.cfg.Store.Write(ctx, func(tx *store.Tx) error {
		docs, err := records().ByIDs(ctx, tx, o.UUIDs)
		if err != nil {
			return err
		}
		for _, d := range docs {
			if err := o.May(d.Value.Experiment); err != nil {
				return err
			}
			if err := refuseElsewhere(ctx, tx, d.Value); err != nil {
				return err
			}
		}
		d := Deletion{Globs: o.Globs, UserID: o.UserID, Asked: now, Due: now}
		return MarkForDeletion(ctx, tx, c.uses, d, o.UUIDs)
	})
	c.Wake()
	return err
}

// cleaned are the experiments whose TensorBoard files are deleted.
func cleaned() store.Collection[struct{}] {
	return store.Collection[struct{}]{Kind: "tensorboard_deleted"}
}

// CheckTensorBoards returns FailedPrecondition if the TensorBoard files of an experiment are being deleted.
func CheckTensorBoards(ctx context.Context, r store.Reader, experiment int32) error {
	waiting, err := deletions().ByParent(ctx, r, record.Key(experiment))
	if err != nil {
		return err
	}
	if slices.ContainsFunc(waiting, func(d store.Doc[Deletion]) bool { return d.Value.TensorBoards }) {
		return status.New(status.FailedPrecondition, "cannot show experiment %d: its TensorBoard files are being deleted", experiment)
	}
	return nil
}

// CheckReaders returns FailedPrecondition if a TensorBoard shows an experiment, whose files it reads.
func (c *Checkpoints) CheckReaders(experiment int32) error {
	open := c.cfg.Tasks.BoardsOf(experiment)
	if len(open) == 0 {
		return nil
	}
	return status.New(status.FailedPrecondition, "cannot delete the TensorBoard files of experiment %d: TensorBoard %s shows them; kill it first, or wait until it has ended", experiment, open[0])
}

// DeleteTensorBoards deletes the TensorBoard files of an experiment and returns when they are deleted.
// If such a deletion is already pending, it is tried now. If ctx ends first, the deletion continues. It
// returns FailedPrecondition if the attempt fails; the deletion is then tried again later.
func (c *Checkpoints) DeleteTensorBoards(ctx context.Context, experiment, user int32) error {
	if err := c.CheckReaders(experiment); err != nil {
		return err
	}
	var d Deletion
	err := c.cfg.Store.Write(ctx, func(tx *store.Tx) (err error) {
		if d, err = c.orderCleaning(ctx, tx, experiment, user); err != nil {
			return err
		}
		d.Due = c.cfg.Now()
		return putDeletion(tx, d)
	})
	if err != nil {
		return err
	}
	c.Wake()
	return c.awaitEnd(ctx, d)
}

// lookForEnd is the interval at which awaitEnd reads the deletion.
const lookForEnd = 250 * time.Millisecond

// awaitEnd waits until a deletion is complete or an attempt fails. An attempt that the cluster
// interrupted is repeated at once.
func (c *Checkpoints) awaitEnd(ctx context.Context, d Deletion) error {
	for {
		doc, found, err := deletions().Get(ctx, c.cfg.Store, d.ID)
		if err != nil || !found {
			return err
		}
		if now := doc.Value; now.Tries > d.Tries && now.Due.After(c.cfg.Now()) {
			return status.New(status.FailedPrecondition, "the TensorBoard files of experiment %d are not deleted yet: %s; the next attempt is at %s; the log of task %s shows more",
				d.Experiment, now.Failure, now.Due.UTC().Format(time.RFC3339), d.ID)
		}
		if err := wait.For(ctx, lookForEnd); err != nil {
			return err
		}
	}
}

// orderCleaning stores a deletion of TensorBoard files and returns it, or returns the pending one.
func (c *Checkpoints) orderCleaning(ctx context.Context, tx *store.Tx, experiment, user int32) (Deletion, error) {
	elsewhere, err := runsElsewhere(ctx, tx, experiment)
	if err != nil {
		return Deletion{}, err
	}
	if elsewhere {
		return Deletion{}, status.New(status.FailedPrecondition, "cannot delete the TensorBoard files of experiment %d: it is unmanaged, and its files are where its programs ran; delete them there", experiment)
	}
	waiting, err := deletions().ByParent(ctx, tx, record.Key(experiment))
	if err != nil {
		return Deletion{}, err
	}
	for _, w := range waiting {
		if w.Value.TensorBoards {
			return w.Value, nil
		}
	}
	now := c.cfg.Now()
	d := Deletion{ID: uuid.NewString(), Experiment: experiment, TensorBoards: true, UserID: user, Asked: now, Due: now}
	return d, putDeletion(tx, d)
}

// triesOfAll is the number of failed tasks after which the deletion of an experiment fails.
const triesOfAll = 3

// DeleteAll marks all checkpoints of a DELETING experiment and returns the number of checkpoints
// whose deletion is pending. The caller repeats it until it returns 0; then the records are deleted
// as well. An experiment that stored no file needs no task. It returns FailedPrecondition if a
// checkpoint is in use or the deletion has failed repeatedly.
func (c *Checkpoints) DeleteAll(ctx context.Context, experiment int32) (left int, err error) {
	all, err := OfExperiment(ctx, c.cfg.Store, experiment)
	if err != nil {
		return 0, err
	}
	elsewhere, err := runsElsewhere(ctx, c.cfg.Store, experiment)
	if err != nil {
		return 0, err
	}
	reported, err := Reported(ctx, c.cfg.Store, experiment)
	if err != nil {
		return 0, err
	}
	if elsewhere || len(all) == 0 && !reported {
		return 0, c.forgetAll(ctx, experiment, all)
	}
	if err := c.markExperiment(ctx, experiment, all); err != nil {
		return 0, err
	}
	if left, err = c.remains(ctx, experiment); err != nil || left > 0 {
		c.Wake()
		return left, err
	}
	return 0, c.forget(ctx, experiment, all)
}

// markExperiment marks the remaining checkpoints. The experiment is DELETING, so that no checkpoint
// can come into use between the transactions.
func (c *Checkpoints) markExperiment(ctx context.Context, experiment int32, all []Record) error {
	var open []Record
	for _, rec := range all {
		if rec.State.Deletable() {
			open = append(open, rec)
		}
	}
	if err := refuseNeeded(ctx, c.cfg.Store, c.uses, open); err != nil {
		return err
	}
	now := c.cfg.Now()
	for some := range slices.Chunk(uuidsOf(open), markedEach) {
		err := c.cfg.Store.Write(ctx, func(tx *store.Tx) error {
			return MarkForDeletion(ctx, tx, c.uses, Deletion{Globs: AllFiles(), Asked: now, Due: now}, some)
		})
		if err != nil {
			return err
		}
	}
	if _, found, err := cleaned().Get(ctx, c.cfg.Store, record.Key(experiment)); err != nil || found {
		return err
	}
	if where, err := StorageOf(ctx, c.cfg.Store, experiment, 0); err != nil || where.Type == nil {
		return err // without a storage there are no TensorBoard files
	}
	return c.cfg.Store.Write(ctx, func(tx *store.Tx) error {
		_, err := c.orderCleaning(ctx, tx, experiment, 0)
		return err
	})
}

// remains returns the number of checkpoints whose deletion is pending.
func (c *Checkpoints) remains(ctx context.Context, experiment int32) (left int, err error) {
	waiting, err := deletions().ByParent(ctx, c.cfg.Store, record.Key(experiment))
	if err != nil {
		return 0, err
	}
	for _, d := range waiting {
		if d.Value.Tries-d.Value.GivenUp >= triesOfAll {
			return 0, c.giveUp(ctx, d.Value)
		}
		left += max(1, len(d.Value.UUIDs))
	}
	return left, nil
}

// giveUp returns an error with the reason of a failed deletion. The pending deletions of the
// experiment continue to be retried, and may fail as often again before a repeated deletion of the
// experiment fails.
func (c *Checkpoints) giveUp(ctx context.Context, failed Deletion) error {
	err := c.cfg.Store.Write(ctx, func(tx *store.Tx) error {
		waiting, err := deletions().ByParent(ctx, tx, record.Key(failed.Experiment))
		if err != nil {
			return err
		}
		for _, d := range waiting {
			d.Value.GivenUp = d.Value.Tries
			if err := putDeletion(tx, d.Value); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return status.New(status.FailedPrecondition, "deleting files failed %d times: %s; see the log of task %s", failed.Tries, failed.Failure, failed.ID)
}
