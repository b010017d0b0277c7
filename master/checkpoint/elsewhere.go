package checkpoint

import (
	"context"

	"github.com/det-deploy/det-deploy/master/api/status"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/store"
)

// Of experiments that run elsewhere the cluster keeps records of checkpoints and never deletes files: they may be on a
// laptop, there is no image with the harness to delete them in, and no keys to their storage. Their policy
// is not carried out, and with the experiment its records go and its files stay.

// runsElsewhere says that the programs of an experiment run outside of the cluster.
func runsElsewhere(ctx context.Context, r store.Reader, experiment int32) (bool, error) {
	x, _, err := record.Docs().Experiments.Get(ctx, r, record.Key(experiment))
	return x.Value.Unmanaged, err
}

// refuseElsewhere refuses to delete files of a checkpoint that was saved outside of the cluster.
func refuseElsewhere(ctx context.Context, r store.Reader, rec Record) error {
	elsewhere, err := runsElsewhere(ctx, r, rec.Experiment)
	if err != nil || !elsewhere {
		return err
	}
	place := "its storage"
	if where, err := StorageOf(ctx, r, rec.Experiment, rec.Storage); err == nil && where.Type != nil {
		place = "its storage of type " + *where.Type
	}
	return status.New(status.FailedPrecondition, "delete checkpoint %s: experiment %d is unmanaged, and its files are where its programs saved them (%s); "+
		"delete them there. Its record goes with the experiment", rec.UUID, rec.Experiment, place)
}

// forgetUnneeded removes the records of an experiment that is being deleted, whose files are not the cluster's. It refuses with
// FailedPrecondition when something else needs one of them.
func (c *Checkpoints) forgetUnneeded(ctx context.Context, experiment int32, all []Record) error {
	var left []Record
	for _, rec := range all {
		if rec.State.Deletable() {
			left = append(left, rec)
		}
	}
	if err := refuseNeeded(ctx, c.cfg.Store, c.uses, left); err != nil {
		return err
	}
	return c.forget(ctx, experiment, all)
}
