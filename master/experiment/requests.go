package experiment

import (
	"context"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/experiment/change"
	"github.com/det-deploy/det-deploy/master/experiment/lifecycle"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/store"
)

// requests is what users ask of experiments that there are.
type requests struct{ *shared }

// checkAllowed lets owners and administrators change an experiment; everybody may look.
func checkAllowed(by *apiv1.User, x record.Experiment, verb string) error {
	if by.GetAdmin() || by.GetId() == x.UserID {
		return nil
	}
	return status.New(status.PermissionDenied, "only %s, who owns experiment %d, or an administrator may %s it", x.Username, x.ID, verb)
}

// demand is a request of a user. A light one needs neither trials nor the search.
type demand struct {
	verb  string
	light bool
	do    func(ctx context.Context, tx *store.Tx, d *change.Draft) error
}

// ask takes a request of a user to an experiment.
func (s *shared) ask(ctx context.Context, by *apiv1.User, e *entry, r demand) error {
	return s.submit(ctx, e, &job{by: by.GetUsername(), light: r.light, do: func(ctx context.Context, tx *store.Tx, d *change.Draft) error {
		if err := checkAllowed(by, d.Record, r.verb); err != nil {
			return err
		}
		return r.do(ctx, tx, d)
	}})
}

// refuse is a request that the state forbids.
func refuse(err error) error {
	if err == nil {
		return nil
	}
	return status.New(status.FailedPrecondition, "%v", err)
}

// Ask carries out Pause, Activate, Cancel, Kill or Delete. What is so already stays. The errors have
// the codes NotFound, PermissionDenied and FailedPrecondition.
func (r *requests) Ask(ctx context.Context, by *apiv1.User, id int32, request lifecycle.Request) error {
	e, err := r.reg.find(id)
	if err != nil {
		return err
	}
	return r.ask(ctx, by, e, demand{verb: string(request), light: request == lifecycle.Delete, do: func(_ context.Context, _ *store.Tx, d *change.Draft) error {
		if request == lifecycle.Pause || request == lifecycle.Activate {
			if err := refuseElsewhere(d.Record, string(request), "stop or start them where they run"); err != nil {
				return err
			}
		}
		if _, err := lifecycle.Ask(d.Record.State, request); err != nil {
			return status.New(status.FailedPrecondition, "experiment %d: %v", id, err)
		}
		return d.Requests().Ask(request, "")
	}})
}

// Archive takes an ended experiment out of the lists that do not ask for archived ones, or back into
// them. The errors have the codes of Ask.
func (r *requests) Archive(ctx context.Context, by *apiv1.User, id int32, archived bool) error {
	e, err := r.reg.find(id)
	if err != nil {
		return err
	}
	verb := map[bool]string{true: "archive", false: "unarchive"}[archived]
	return r.ask(ctx, by, e, demand{verb: verb, light: true, do: func(_ context.Context, _ *store.Tx, d *change.Draft) error {
		if isOpen(d.Record) {
			return status.New(status.FailedPrecondition, "%s experiment %d: it has not ended (%s)", verb, id, d.Record.State)
		}
		if d.Record.Archived != archived {
			d.Record.Archived = archived
			d.Requests().Change(verb + "d")
		}
		return nil
	}})
}

// KillTrial ends one trial. The errors have the codes of Ask.
func (r *requests) KillTrial(ctx context.Context, by *apiv1.User, trial int32) error {
	return r.changeTrial(ctx, trial, by.GetUsername(), func(_ context.Context, _ *store.Tx, d *change.Draft, _ record.Trial) error {
		if err := checkAllowed(by, d.Record, "kill a trial of"); err != nil {
			return err
		}
		return d.Requests().KillTrial(trial)
	})
}

// Move puts an experiment into another project. The errors have the codes of Ask.
func (r *requests) Move(ctx context.Context, by *apiv1.User, id, project int32) error {
	e, err := r.reg.find(id)
	if err != nil {
		return err
	}
	return r.ask(ctx, by, e, demand{verb: "move", light: true, do: func(ctx context.Context, tx *store.Tx, d *change.Draft) error {
		to, err := r.cfg.Places.OpenProject(ctx, tx, project)
		if err != nil {
			return err
		}
		if d.Record.ProjectID != project {
			d.Record.ProjectID = project
			d.Requests().Change("moved to project " + to.Name)
		}
		return nil
	}})
}
