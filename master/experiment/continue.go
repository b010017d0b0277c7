package experiment

import (
	"bytes"
	"cmp"
	"context"
	"reflect"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/checkpoint"
	"github.com/det-deploy/det-deploy/master/experiment/change"
	"github.com/det-deploy/det-deploy/master/experiment/config"
	"github.com/det-deploy/det-deploy/master/experiment/search"
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
	overlaid, err := c.overlay(ctx, o)
	if err != nil {
		return View{}, err
	}
	err = c.ask(ctx, o.By, e, demand{verb: "continue", do: func(ctx context.Context, tx *store.Tx, d *change.Draft) error {
		if _, err := c.cfg.Places.OpenProject(ctx, tx, d.Record.ProjectID); err != nil {
			return err
		}
		ids, err := d.Requests().Reopen()
		if err != nil {
			return refuse(err)
		}
		for _, id := range ids {
			if t, _ := d.Trial(id); t.Life.Checkpoint() != "" {
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
			d.Config = overlaid
			d.Record.Queue = queueOf(*overlaid)
			d.Record.Name = *overlaid.Name
		}
		d.Record.Archived = false
		return nil
	}})
	if err != nil {
		return View{}, err
	}
	return c.viewOf(e.snapshot(), e), nil
}

// overlay returns the configuration with the override, or nil if there is no override. It returns
// InvalidArgument if the override is invalid or changes the searcher or the hyperparameters.
func (c *creations) overlay(ctx context.Context, o Continuation) (*config.Experiment, error) {
	request, err := config.Parse([]byte(o.Override), "override", nil)
	if err != nil {
		return nil, status.New(status.InvalidArgument, "%v", err)
	}
	if request.CountValues() <= 1 { // empty, or {}
		return nil, nil //nolint:nilnil // see above
	}
	old, _, err := loadConfig(ctx, c.cfg.Store, o.ID)
	if err != nil {
		return nil, err
	}
	if old.Search().Method != search.Single {
		return nil, status.New(status.InvalidArgument, "cannot continue experiment %d: the configuration of an experiment with several trials cannot be changed; fork it instead", o.ID)
	}
	complete, err := old.Store()
	if err != nil {
		return nil, err
	}
	below, err := config.Parse(complete, "configuration", nil)
	if err != nil {
		return nil, err
	}
	x, _, err := config.Complete(config.Layers{Request: request, Template: below, Cluster: c.cfg.Storage})
	if err != nil {
		return nil, status.New(status.InvalidArgument, "%v", err)
	}
	if x.Search().Method != search.Single {
		return nil, status.New(status.InvalidArgument, "cannot continue experiment %d: the searcher must stay %s; fork it instead", o.ID, search.Single)
	}
	if err := checkSameHyperparameters(o.ID, old, x); err != nil {
		return nil, err
	}
	if !reflect.DeepEqual(x.CheckpointStorage, old.CheckpointStorage) {
		x.CheckpointStorage = x.CheckpointStorage.InOwnDirectory(cmp.Or(old.CheckpointStorage.OwnDirectory(), newDirectory(o.ID)))
	}
	return &x, nil
}

// checkSameHyperparameters returns an error if the override changes hyperparameters: the trial keeps
// the values with which its checkpoints were made.
func checkSameHyperparameters(id int32, old, x config.Experiment) error {
	before, err := config.Experiment{Hyperparameters: old.Hyperparameters}.Store()
	if err != nil {
		return err
	}
	after, err := config.Experiment{Hyperparameters: x.Hyperparameters}.Store()
	if err != nil {
		return err
	}
	if !bytes.Equal(before, after) {
		return status.New(status.InvalidArgument, "cannot continue experiment %d: hyperparameters: the trial keeps its initial values; create another experiment with the new values, which can start from the latest checkpoint of the trial with searcher.source_trial_id", id)
	}
	return nil
}
