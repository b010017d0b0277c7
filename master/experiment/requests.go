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

// requests handles the requests of users for existing experiments.
type requests struct{ *shared }

// checkAllowed returns PermissionDenied unless the user owns the experiment or is an administrator.
// Every user may read experiments.
func checkAllowed(by *apiv1.User, x record.Experiment, verb string) error {
	if by.GetAdmin() || by.GetId() == x.UserID {
		return nil
	}
	return status.New(status.PermissionDenied, "only its owner %s and administrators may %s experiment %d", x.Username, verb, x.ID)
}

// demand is a request of a user. A light one needs neither trials nor the search.
type demand struct {
	verb  string
	light bool
	do    func(ctx context.Context, tx *store.Tx, d *change.Draft) error
}

// ask runs a request of a user on an experiment.
func (s *shared) ask(ctx context.Context, by *apiv1.User, e *entry, r demand) error {
	return s.submit(ctx, e, &job{by: by.GetUsername(), light: r.light, do: func(ctx context.Context, tx *store.Tx, d *change.Draft) error {
		if err := checkAllowed(by, d.Record, r.verb); err != nil {
			return err
		}
		return r.do(ctx, tx, d)
	}})
}

// refuse converts an error to FailedPrecondition.
func refuse(err error) error {
	if err == nil {
		return nil
	}
	return status.New(status.FailedPrecondition, "%v", err)
}

// Ask performs Pause, Activate, Cancel, Kill or Delete. A request that changes nothing succeeds. It
// returns NotFound, PermissionDenied or FailedPrecondition.
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
			return status.New(status.FailedPrecondition, "cannot %s experiment %d: %v", request, id, err)
		}
		if request == lifecycle.Delete {
			if err := r.cfg.Checkpoints.CheckReaders(id); err != nil {
				return err
			}
			d.Record.KeepFiles = d.Record.KeepFiles && d.Record.State == lifecycle.Deleting
		}
		return d.Requests().Ask(request, "")
	}})
}

// DeleteRecords deletes an ended experiment and leaves its files in the storage, also if a deletion
// with the files is pending. Only administrators may, because nothing deletes the files later. It
// returns the errors of Ask.
func (r *requests) DeleteRecords(ctx context.Context, by *apiv1.User, id int32) error {
	e, err := r.reg.find(id)
	if err != nil {
		return err
	}
	if !by.GetAdmin() {
		return status.New(status.PermissionDenied, "only administrators may delete experiment %d and keep its files, because nothing deletes them later", id)
	}
	return r.ask(ctx, by, e, demand{verb: string(lifecycle.Delete), light: true, do: func(_ context.Context, _ *store.Tx, d *change.Draft) error {
		if _, err := lifecycle.Ask(d.Record.State, lifecycle.Delete); err != nil {
			return status.New(status.FailedPrecondition, "cannot delete experiment %d: %v", id, err)
		}
		d.Record.KeepFiles = true
		return d.Requests().Ask(lifecycle.Delete, "its files are kept")
	}})
}

// Archive archives or unarchives an ended experiment. Lists omit archived experiments by default. It
// returns the errors of Ask.
func (r *requests) Archive(ctx context.Context, by *apiv1.User, id int32, archived bool) error {
	e, err := r.reg.find(id)
	if err != nil {
		return err
	}
	verb := map[bool]string{true: "archive", false: "unarchive"}[archived]
	return r.ask(ctx, by, e, demand{verb: verb, light: true, do: func(_ context.Context, _ *store.Tx, d *change.Draft) error {
		if isOpen(d.Record) {
			return status.New(status.FailedPrecondition, "cannot %s experiment %d: it is %s; cancel or kill it first", verb, id, d.Record.State)
		}
		if d.Record.Archived != archived {
			d.Record.Archived = archived
			d.Requests().Change(verb + "d")
		}
		return nil
	}})
}

// KillTrial kills one trial. It returns the errors of Ask.
func (r *requests) KillTrial(ctx context.Context, by *apiv1.User, trial int32) error {
	return r.changeTrial(ctx, trial, by.GetUsername(), func(_ context.Context, _ *store.Tx, d *change.Draft, _ record.Trial) error {
		if err := checkAllowed(by, d.Record, "kill a trial of"); err != nil {
			return err
		}
		return d.Requests().KillTrial(trial)
	})
}

// Move moves an experiment to another project. It returns the errors of Ask.
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
