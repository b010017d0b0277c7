package master

import (
	"context"
	"errors"
	"fmt"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/experiment"
	"github.com/det-deploy/det-deploy/master/experiment/lifecycle"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/master/workspace"
)

// projectExperiments is the experiments of projects.
type projectExperiments struct {
	*experiment.Experiments

	store *store.Store
}

// Count implements workspace.Experiments.
func (e projectExperiments) Count() map[int32]workspace.Counts {
	out := map[int32]workspace.Counts{}
	for _, x := range e.Rows(experiment.Filter{}) {
		n := out[x.ProjectID]
		n.Experiments++
		n.Runs += int32(x.Trials)
		if x.State == lifecycle.Active {
			n.Active++
		}
		if x.Started.After(n.LastStarted) {
			n.LastStarted = x.Started
		}
		out[x.ProjectID] = n
	}
	return out
}

// DeleteAll implements workspace.Experiments.
func (e projectExperiments) DeleteAll(ctx context.Context, by *apiv1.User, project int32, again bool) (left int, err error) {
	var failed []error
	for _, x := range e.Rows(experiment.Filter{}) {
		if x.ProjectID != project {
			continue
		}
		left++
		failed = append(failed, e.deleteNext(ctx, by, *x.Experiment, again))
	}
	if left == 0 {
		// One that was stored before the project was marked may not be in memory yet.
		left, err = e.countStored(ctx, project)
	}
	return left, errors.Join(append(failed, err)...)
}

// deleteNext takes the next step of the deletion of one experiment.
func (e projectExperiments) deleteNext(ctx context.Context, by *apiv1.User, x record.Experiment, again bool) error {
	request := lifecycle.Kill
	switch {
	case x.State == lifecycle.Deleting || x.State == lifecycle.StoppingKilled:
		return nil
	case x.State == lifecycle.DeleteFailed && !again:
		return fmt.Errorf("experiment %d cannot be deleted: %s", x.ID, x.Failure)
	case x.State.Over():
		request = lifecycle.Delete
	}
	err := e.Ask(ctx, by, x.ID, request)
	if status.Of(err) == status.NotFound {
		return nil
	}
	return err
}

func (e projectExperiments) countStored(ctx context.Context, project int32) (n int, err error) {
	docs, err := record.Docs().Experiments.All(ctx, e.store)
	for _, d := range docs {
		if d.Value.ProjectID == project {
			n++
		}
	}
	return n, err
}
