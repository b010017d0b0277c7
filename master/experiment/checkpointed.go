package experiment

import (
	"context"

	"github.com/det-deploy/det-deploy/master/api/status"
	"github.com/det-deploy/det-deploy/master/checkpoint"
	"github.com/det-deploy/det-deploy/master/experiment/change"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/store"
)

// Checkpointed is a checkpoint that a trial reports.
type Checkpointed struct {
	UUID  string
	Trial int32
	// Steps is how far the trial was.
	Steps int32
	// Allocation is the one whose token came with the report, empty for a user's.
	Allocation string
}

// Checkpointed notes a checkpoint as its trial's latest, in the transaction in which put stores it: one that can
// be trained on from, and that was not reported before. The errors are put's, and have the codes NotFound, and
// FailedPrecondition for a run that is not the present one.
func (r *reports) Checkpointed(ctx context.Context, c Checkpointed, put func(context.Context, *store.Tx) error) error {
	return r.changeTrial(ctx, c.Trial, "", func(ctx context.Context, tx *store.Tx, d *change.Draft, t record.Trial) error {
		if !t.MayReport(c.Allocation) {
			return status.New(status.FailedPrecondition,
				"allocation %s cannot report checkpoint %s: trial %d has a later run, which started without it", c.Allocation, c.UUID, t.ID)
		}
		if err := d.Elsewhere().Hear(c.Trial); err != nil {
			return refuse(err)
		}
		before, err := isUsable(ctx, tx, c.UUID)
		if err != nil {
			return err
		}
		if err := put(ctx, tx); err != nil {
			return err
		}
		after, err := isUsable(ctx, tx, c.UUID)
		if err == nil && after && !before {
			d.Reports().Checkpoint(c.Trial, c.UUID, c.Steps)
		}
		return err
	})
}

func isUsable(ctx context.Context, tx *store.Tx, uuid string) (bool, error) {
	rec, found, err := checkpoint.Get(ctx, tx, uuid)
	return found && rec.State.Usable(), err
}

// Patched takes in that files of a trial's checkpoints are gone, in the transaction in which patch stores it. When
// its latest cannot be used any more, the trial continues from the one with the most steps that can. The errors
// are patch's, and have the code NotFound.
func (r *reports) Patched(ctx context.Context, trial int32, patch func(context.Context, *store.Tx) error) error {
	return r.changeTrial(ctx, trial, "", func(ctx context.Context, tx *store.Tx, d *change.Draft, t record.Trial) error {
		if err := patch(ctx, tx); err != nil || t.Life.Latest == "" {
			return err
		}
		usable, err := isUsable(ctx, tx, t.Life.Latest)
		if err != nil || usable {
			return err
		}
		latest, _, err := checkpoint.Latest(ctx, tx, trial)
		d.Reports().Checkpoint(trial, latest.UUID, latest.Steps)
		return err
	})
}
