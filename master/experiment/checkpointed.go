package experiment

import (
	"context"
	"slices"
	"time"

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
	// Steps is the number of steps of the trial.
	Steps int32
	// Allocation is the allocation whose token was sent with the report, empty for a user.
	Allocation string
}

// Checkpointed makes a checkpoint the latest one of its trial, in the transaction in which put
// stores it. A checkpoint that is not usable or was reported before does not change the trial. It
// returns the errors of put, NotFound, and FailedPrecondition if the report is from an earlier run.
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

// Patched updates a trial after files of its checkpoints were deleted, in the transaction in which
// patch stores that. If the latest checkpoint is no longer usable, the trial continues from the
// usable one with the most steps. It returns the errors of patch and NotFound.
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

// mostUses limits the checkpoints that one trial reports to use.
const mostUses = 1000

// ReportUse records that a trial uses a checkpoint, possibly of another trial. A repeated report
// replaces the earlier one. It returns NotFound, or FailedPrecondition if the trial already uses
// mostUses checkpoints.
func (r *reports) ReportUse(ctx context.Context, trial int32, u record.Use) error {
	return r.changeTrial(ctx, trial, "", func(ctx context.Context, tx *store.Tx, d *change.Draft, t record.Trial) error {
		if _, found, err := checkpoint.Get(ctx, tx, u.Checkpoint); err != nil {
			return err
		} else if !found {
			return checkpoint.NotFound(u.Checkpoint)
		}
		if !d.Reports().Use(trial, u, mostUses) {
			return status.New(status.FailedPrecondition, "trial %d already uses %d checkpoints, which is the maximum", trial, mostUses)
		}
		return record.Docs().Users.Put(tx, record.UserKey(u.Checkpoint, trial), u.Checkpoint, time.Time{}, t.ID)
	})
}

// Using returns the IDs of the trials that use a checkpoint in a way that matches accepts, in
// ascending order.
func (v *views) Using(ctx context.Context, uuid string, matches func(record.Use) bool) ([]int32, error) {
	docs, err := record.Docs().Users.ByParent(ctx, v.cfg.Store, uuid)
	if err != nil {
		return nil, err
	}
	var out []int32
	for _, d := range docs {
		_, t, err := v.readTrial(ctx, d.Value)
		switch {
		case status.Of(err) == status.NotFound: // deleted concurrently
			continue
		case err != nil:
			return nil, err
		}
		if slices.ContainsFunc(t.Uses, func(u record.Use) bool { return u.Checkpoint == uuid && matches(u) }) {
			out = append(out, t.ID)
		}
	}
	slices.Sort(out)
	return out, nil
}
