package checkpoint

import (
	"context"

	"github.com/det-deploy/det-deploy/master/api/status"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/store"
)

// For unmanaged experiments the cluster stores records of checkpoints but never deletes files: they
// may be on a laptop, no image with the harness is available to delete them, and the keys of their
// storage may be unknown. Their checkpoint policy is not applied. When the experiment is deleted,
// its records are deleted and its files remain.

// runsElsewhere reports whether an experiment is unmanaged.
func runsElsewhere(ctx context.Context, r store.Reader, experiment int32) (bool, error) {
	x, _, err := record.Docs().Experiments.Get(ctx, r, record.Key(experiment))
	return x.Value.Unmanaged, err
}

// refuseElsewhere returns FailedPrecondition if the checkpoint belongs to an unmanaged experiment.
func refuseElsewhere(ctx context.Context, r store.Reader, rec Record) error {
	elsewhere, err := runsElsewhere(ctx, r, rec.Experiment)
	if err != nil || !elsewhere {
		return err
	}
	place := "its storage"
	if where, err := StorageOf(ctx, r, rec.Experiment, rec.Storage); err == nil && where.Type != nil {
		place = "its storage of type " + *where.Type
	}
	return status.New(status.FailedPrecondition, "cannot delete checkpoint %s: experiment %d is unmanaged, and its files are where its programs saved them (%s); "+
		"delete them there. Its record is deleted with the experiment", rec.UUID, rec.Experiment, place)
}
