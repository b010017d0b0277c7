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

// mostUses bounds the checkpoints of others that one trial says it uses.
const mostUses = 1000

// ReportUse takes in that a trial uses a checkpoint, which need not be its own. Said again, the last word counts. The errors have the
// codes NotFound and FailedPrecondition.
func (r *reports) ReportUse(ctx context.Context, trial int32, u record.Use) error {
	return r.changeTrial(ctx, trial, "", func(ctx context.Context, tx *store.Tx, d *change.Draft, t record.Trial) error {
		if _, found, err := checkpoint.Get(ctx, tx, u.Checkpoint); err != nil {
			return err
		} else if !found {
			return checkpoint.NotFound(u.Checkpoint)
		}
		if !d.Reports().Use(trial, u, mostUses) {
			return status.New(status.FailedPrecondition, "trial %d uses %d checkpoints already, and may use no more", trial, mostUses)
		}
		return record.Docs().Users.Put(tx, record.UserKey(u.Checkpoint, trial), u.Checkpoint, time.Time{}, t.ID)
	})
}

// Using is the trials that use a checkpoint in a way that matches, by their number.
func (v *views) Using(ctx context.Context, uuid string, matches func(record.Use) bool) ([]int32, error) {
	docs, err := record.Docs().Users.ByParent(ctx, v.cfg.Store, uuid)
	if err != nil {
		return nil, err
	}
	var out []int32
	for _, d := range docs {
		_, t, err := v.readTrial(ctx, d.Value)
		switch {
		case status.Of(err) == status.NotFound: // it was deleted meanwhile
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
