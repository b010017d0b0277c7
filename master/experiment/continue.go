package experiment

import (
	"context"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/checkpoint"
	"github.com/det-deploy/det-deploy/master/experiment/change"
	"github.com/det-deploy/det-deploy/master/store"
)

// Continuation is a request to run an ended experiment again.
type Continuation struct {
	By *apiv1.User
	ID int32
	// Override is YAML that is merged into the configuration. It must be empty for an experiment
	// with several trials.
	Override string
}

// Continue runs an experiment again from the latest checkpoints of its trials: the trial of a single
// search, or the trials of a grid or random search that did not complete. It returns NotFound,
// PermissionDenied, InvalidArgument or FailedPrecondition.
func (c *creations) Continue(ctx context.Context, o Continuation) (View, error) {
	e, err := c.reg.find(o.ID)
	if err != nil {
		return View{}, err
	}
	if err := checkAllowed(o.By, e.snapshot(), "continue"); err != nil {
		return View{}, err
	}
	overlaid, err := c.overlay(ctx, o, e.snapshot())
	if err != nil {
		return View{}, err
	}
	var tasks []string
	err = c.ask(ctx, o.By, e, demand{verb: "continue", do: func(ctx context.Context, tx *store.Tx, d *change.Draft) error {
		if _, err := c.cfg.Places.OpenProject(ctx, tx, d.Record.ProjectID); err != nil {
			return err
		}
		ids, err := d.Requests().Reopen()
		if err != nil {
			return refuse(err)
		}
		tasks = nil
		for _, id := range ids {
			t, _ := d.Trial(id)
			tasks = append(tasks, t.Task())
			if t.Life.Checkpoint() != "" {
				rec, err := checkpoint.CheckSource(ctx, tx, t.Life.Checkpoint())
				if err == nil {
					err = checkpoint.CheckReader(ctx, tx, o.By, rec)
				}
				if err != nil {
					return err
				}
			}
		}
		if overlaid != nil {
			overlaid.apply(d)
		}
		d.Record.Archived = false
		return nil
	}})
	if err != nil {
		return View{}, err
	}
	if overlaid != nil {
		overlaid.logWarnings(ctx, c.shared, tasks)
	}
	return c.viewOf(e.snapshot(), e), nil
}
