package installer

import (
	"context"
	"errors"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/installer/apply"
	"github.com/det-deploy/det-deploy/installer/event"
	"github.com/det-deploy/det-deploy/installer/plan"
)

// Mover is a Deployment that can move to another zone while it holds no data.
type Mover interface {
	// Move chooses another zone after the platform reported no capacity for the resource of that
	// ID. If there is no other zone, or the user chose this one, it returns the refusal with a
	// remedy.
	Move(ctx context.Context, id string, refusal error) (Moved, error)
}

// Moved is a deployment in another zone.
type Moved struct {
	// Settings are recorded for the next run.
	Settings map[string]string
	// Message explains the move to the user: "us-west-2a has no capacity for m6i.large; trying
	// us-west-2b".
	Message string
}

// applyMoving applies p. If the only failure is one resource without capacity, it moves the
// deployment and applies the new plan, without another confirmation, because the user agreed to a
// cluster in any zone. It records the move before it deletes a disk, so that an interrupted run
// continues in the new zone.
func (s *session) applyMoving(ctx context.Context, p plan.Plan) error {
	mover, movable := s.Deployment.(Mover)
	for {
		err := s.applyPlan(ctx, p)
		failed, ok := errors.AsType[*apply.Error](err)
		if !movable || !ok {
			return err
		}
		step, only := failed.Only()
		if !only || step.Verb != plan.Create || cloud.KindOf(step) != cloud.NoCapacity {
			return err
		}
		moved, err := mover.Move(ctx, step.ID, step.Err)
		if err != nil {
			return failed.Because(err)
		}
		s.Settings = moved.Settings
		s.Emit.Emit(event.Event{Type: event.Progress, Scope: event.Phase, Subject: "apply the plan", Message: moved.Message})
		if p, err = s.Plan(ctx); err != nil {
			return err
		}
	}
}
