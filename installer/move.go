package installer

import (
	"context"
	"errors"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/installer/apply"
	"github.com/det-deploy/det-deploy/installer/event"
	"github.com/det-deploy/det-deploy/installer/plan"
)

// Mover is a Deployment that can be made in another zone while it holds no data.
type Mover interface {
	// Move chooses another zone after the platform had no capacity for the resource with
	// an ID. Its error is that refusal, with what the user can do, where there is no other
	// zone or the user chose this one.
	Move(ctx context.Context, id string, refusal error) (Moved, error)
}

// Moved is a deployment that is to be made in another zone.
type Moved struct {
	// Settings are remembered for the next run.
	Settings map[string]string
	// Message is the reason, for a person: "us-west-2a has no capacity for m6i.large; trying us-west-2b".
	Message string
}

// applyMoving applies p. While nothing else fails than one resource for want of capacity, it
// moves the deployment and applies the new plan, without asking: the user agreed to a
// cluster in any zone. It is remembered before a disk is deleted, so that a run which is
// killed is continued in the new zone.
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
