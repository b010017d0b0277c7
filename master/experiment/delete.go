package experiment

import (
	"context"
	"errors"
	"fmt"

	"github.com/det-deploy/det-deploy/master/api/status"
	"github.com/det-deploy/det-deploy/master/bundle"
	"github.com/det-deploy/det-deploy/master/experiment/change"
	"github.com/det-deploy/det-deploy/master/experiment/definition"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/store"
)

// deleteExperiment performs the next step of a deletion: it deletes the checkpoints, whose files are
// deleted by tasks or kept, then the logs, then the documents.
func (r *reconciler) deleteExperiment(ctx context.Context, e *entry) error {
	left, err := r.deleteCheckpoints(ctx, e)
	if status.Of(err) == status.FailedPrecondition {
		return r.endDeletion(ctx, e, err.Error())
	}
	if err != nil || left > 0 {
		return err
	}
	docs, err := record.Docs().Trials.ByParent(ctx, r.cfg.Store, record.Key(e.id))
	if err != nil {
		return fmt.Errorf("read the trials of experiment %d: %w", e.id, err)
	}
	trials := values(docs)
	for _, t := range trials {
		for _, id := range t.Tasks {
			if err := r.cfg.Tasks.Forget(ctx, rm.TaskID(id)); err != nil {
				return err
			}
		}
	}
	return r.dropDocuments(ctx, e, trials)
}

// deleteCheckpoints returns the number of checkpoints whose deletion is pending.
func (r *reconciler) deleteCheckpoints(ctx context.Context, e *entry) (left int, err error) {
	if e.stored().KeepFiles {
		return 0, r.cfg.Checkpoints.ForgetAll(ctx, e.id)
	}
	return r.cfg.Checkpoints.DeleteAll(ctx, e.id)
}

// endDeletion records the result of a deletion. If reason is not empty, the deletion failed.
func (r *reconciler) endDeletion(ctx context.Context, e *entry, reason string) error {
	return r.submit(ctx, e, &job{light: true, do: func(_ context.Context, _ *store.Tx, d *change.Draft) error {
		return refuse(d.Requests().EndDeletion(reason))
	}})
}

// dropDocuments deletes all documents of an experiment. It deletes trials in batches, so that an
// experiment of 10,000 trials does not block other transactions.
func (r *reconciler) dropDocuments(ctx context.Context, e *entry, trials []record.Trial) error {
	const most = 100
	for len(trials) > 0 {
		part := trials[:min(most, len(trials))]
		trials = trials[len(part):]
		if err := r.cfg.Store.Write(ctx, func(tx *store.Tx) error { return r.dropTrials(tx, part, e.stored().UserID) }); err != nil {
			return fmt.Errorf("delete trials of experiment %d: %w", e.id, err)
		}
	}
	return r.endDeletion(ctx, e, "")
}

// dropExperiment deletes the documents of an experiment whose trials are deleted.
func dropExperiment(tx *store.Tx, x record.Experiment) error {
	id := x.ID
	docs, key := record.Docs(), record.Key(id)
	search, others := record.EventParents(id)
	_, first := docs.Events.DeleteByParent(tx, search)
	_, second := docs.Events.DeleteByParent(tx, others)
	if x.ExternalID != "" {
		first = errors.Join(first, docs.External.Delete(tx, x.ExternalID))
	}
	return errors.Join(first, second, docs.Configs.Delete(tx, key), definition.Delete(tx, id), bundle.Release(tx, holderOf(id)), docs.Experiments.Delete(tx, key))
}

func (r *reconciler) dropTrials(tx *store.Tx, trials []record.Trial, owner int32) error {
	docs := record.Docs()
	for _, t := range trials {
		key := record.Key(t.ID)
		err := errors.Join(r.cfg.Metrics.Delete(tx, int64(t.ID), owner), docs.Trials.Delete(tx, key), docs.Hparams.Delete(tx, key), docs.Sources.Delete(tx, key), docs.Metadata.Delete(tx, key))
		for _, u := range t.Uses {
			err = errors.Join(err, docs.Users.Delete(tx, record.UserKey(u.Checkpoint, t.ID)))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
