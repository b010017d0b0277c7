package experiment

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/det-deploy/det-deploy/internal/excerpt"
	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/checkpoint"
	"github.com/det-deploy/det-deploy/master/experiment/change"
	"github.com/det-deploy/det-deploy/master/experiment/config"
	"github.com/det-deploy/det-deploy/master/experiment/hparam"
	"github.com/det-deploy/det-deploy/master/experiment/lifecycle"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/log"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/store"
)

// elsewhere handles unmanaged trials, whose programs run outside the cluster.
type elsewhere struct{ *shared }

// TrialOrder is a request to create an unmanaged trial.
type TrialOrder struct {
	By         *apiv1.User
	Experiment int32
	Hparams    map[string]any
	// ExternalID is the ID of the trial outside the cluster, or empty. A repeated order with the
	// same ID returns the existing trial.
	ExternalID string
}

// CreateTrial adds a trial to an unmanaged experiment. An ended experiment continues. It returns the
// errors of Ask, InvalidArgument or ResourceExhausted.
func (w *elsewhere) CreateTrial(ctx context.Context, o TrialOrder) (TrialView, error) {
	e, err := w.reg.find(o.Experiment)
	if err != nil {
		return TrialView{}, err
	}
	if err := checkExternalID(o.ExternalID); err != nil {
		return TrialView{}, err
	}
	var t record.Trial
	err = w.ask(ctx, o.By, e, demand{verb: "add a trial to", do: func(ctx context.Context, tx *store.Tx, d *change.Draft) error {
		if err := d.Elsewhere().Check("add a trial to"); err != nil {
			return refuse(err)
		}
		if _, err := w.cfg.Places.OpenProject(ctx, tx, d.Record.ProjectID); err != nil {
			return err
		}
		had := d.Record.Trials
		var err error
		if t, err = d.Elsewhere().AddTrial(o.ExternalID, o.Hparams); err != nil || d.Record.Trials == had {
			return err
		}
		return countValues(d, o)
	}})
	if err != nil {
		return TrialView{}, err
	}
	v := views{w.shared}
	return v.trialView(e.snapshot(), t), nil
}

// valuesEach is added to the number of hyperparameters of every trial, so that trials without any
// count, too.
const valuesEach = 10

// countValues counts the hyperparameters of a new trial. It returns ResourceExhausted if the
// experiment would have too many.
func countValues(d *change.Draft, o TrialOrder) error {
	n := valuesEach + hparam.SizeOf(o.Hparams)
	if d.Record.Values += n; d.Record.Values > config.MostHyperparameters {
		return status.New(status.ResourceExhausted, "cannot add a trial to experiment %d: its %d trials would have more than %d hyperparameter values "+
			"(this trial counts as %d); create another experiment, or put large values into files", o.Experiment, d.Record.Trials, config.MostHyperparameters, n)
	}
	return nil
}

// longestExternalID is in bytes.
const longestExternalID = 256

// checkExternalID returns InvalidArgument if an external ID is too long or contains control
// characters.
func checkExternalID(id string) error {
	if len(id) > longestExternalID || !utf8.ValidString(id) || strings.ContainsFunc(id, unicode.IsControl) {
		return status.New(status.InvalidArgument, "external id %q: must be text of at most %d bytes without control characters", excerpt.Of(id), longestExternalID)
	}
	return nil
}

// Begun is a run of an unmanaged trial.
type Begun struct {
	Run int
	// Checkpoint is the checkpoint from which the run continues, or empty; Steps is the number of
	// steps of that checkpoint.
	Checkpoint string
	Steps      int32
}

// StartTrial starts the next run of an unmanaged trial. If resume is true, the run continues from
// the latest usable checkpoint. A repeated call before the first report of the run returns the same
// run. It returns NotFound or FailedPrecondition.
func (w *elsewhere) StartTrial(ctx context.Context, by *apiv1.User, trial int32, resume bool) (Begun, error) {
	var out Begun
	err := w.changeTrial(ctx, trial, by.GetUsername(), func(ctx context.Context, tx *store.Tx, d *change.Draft, t record.Trial) error {
		out = Begun{}
		if resume {
			var err error
			if out.Checkpoint, out.Steps, err = usableCheckpoint(ctx, tx, t); err != nil {
				return err
			}
		}
		t, err := d.Elsewhere().BeginRun(trial, out.Checkpoint, out.Steps)
		out.Run = t.Life.Run
		return refuse(err)
	})
	return out, err
}

// usableCheckpoint returns the checkpoint from which a trial continues: the latest one reported,
// otherwise the remaining one with the most steps, otherwise the initial one of the trial.
func usableCheckpoint(ctx context.Context, tx *store.Tx, t record.Trial) (id string, steps int32, err error) {
	if t.Life.Latest != "" {
		last, found, err := checkpoint.Get(ctx, tx, t.Life.Latest)
		if err != nil || found && last.State.Usable() {
			return last.UUID, last.Steps, err
		}
		left, found, err := checkpoint.Latest(ctx, tx, t.ID)
		if err != nil || found {
			return left.UUID, left.Steps, err
		}
	}
	if t.Life.WarmStart == "" {
		return "", 0, nil
	}
	_, err = checkpoint.CheckSource(ctx, tx, t.Life.WarmStart)
	return t.Life.WarmStart, 0, err
}

// Heartbeat records that the program of an unmanaged trial is alive. It returns NotFound or
// FailedPrecondition.
func (w *elsewhere) Heartbeat(ctx context.Context, trial int32) error {
	e, t, err := (&views{w.shared}).readTrial(ctx, trial)
	if err != nil {
		return err
	}
	if e.snapshot().Unmanaged { // checked without loading the experiment, because the library retries refused heartbeats indefinitely
		if err := change.CheckListened(t); err != nil {
			return refuse(err)
		}
	}
	return w.changeTrial(ctx, trial, "", func(_ context.Context, _ *store.Tx, d *change.Draft, _ record.Trial) error {
		return refuse(hear(d, trial))
	})
}

// hear records a message from a program. It returns an error if the trial is not unmanaged.
func hear(d *change.Draft, trial int32) error {
	if !d.Record.Unmanaged {
		return fmt.Errorf("cannot change the state of trial %d: it is managed by the cluster; pause, cancel or kill experiment %d instead", trial, d.Record.ID)
	}
	return d.Elsewhere().Hear(trial)
}

// EndTrial records the end of an unmanaged program: Exited, Failed or Killed. A trial that has ended
// does not change. It returns NotFound or FailedPrecondition.
func (w *elsewhere) EndTrial(ctx context.Context, by *apiv1.User, trial int32, c lifecycle.Cause) error {
	var ended record.Trial
	err := w.changeTrial(ctx, trial, by.GetUsername(), func(_ context.Context, _ *store.Tx, d *change.Draft, t record.Trial) error {
		ended = record.Trial{}
		if d.Record.Unmanaged && t.Life.State.Over() && !t.Silent {
			return nil
		}
		if err := hear(d, trial); err != nil {
			return refuse(err)
		}
		if err := d.Elsewhere().EndRun(trial, c); err != nil {
			return err
		}
		ended, _ = d.Trial(trial)
		return nil
	})
	if err == nil && ended.ID != 0 {
		w.writeEnd(ctx, ended)
	}
	return err
}

// writeEnd writes the end of a program to the trial's log. Errors are only logged, because the line
// is informational.
func (s *shared) writeEnd(ctx context.Context, t record.Trial) {
	level := log.Info
	if t.Life.State == lifecycle.Error {
		level = log.Error
	}
	if err := s.cfg.Tasks.Write(ctx, rm.TaskID(t.Task()), level, fmt.Sprintf("run %d of trial %d ended: %s", t.Life.Run, t.ID, t.Reason)); err != nil {
		s.cfg.Log.Warn("cannot write to the log of a trial", "trial_id", t.ID, "err", err)
	}
}

// endSilent ends unmanaged trials whose programs sent no heartbeat for too long, and an unmanaged
// experiment for which no trial was created.
func (r *reconciler) endSilent(ctx context.Context, e *entry) error {
	now := r.cfg.Now()
	if x := e.snapshot(); x.Trials == 0 && lifecycle.IsSilent(later(x.Started, r.since), now) {
		return r.submit(ctx, e, &job{do: func(_ context.Context, _ *store.Tx, d *change.Draft) error {
			return refuse(d.Elsewhere().EndUnused())
		}})
	}
	var silent []int32
	e.readOpen(func(x *change.Experiment) {
		for _, t := range x.OpenTrials() {
			if r.isSilent(t, now) {
				silent = append(silent, t.ID)
			}
		}
	})
	var errs []error
	for _, id := range silent {
		errs = append(errs, r.endSilentTrial(ctx, e, id, now))
	}
	return errors.Join(errs...)
}

// isSilent reports whether a trial sent no heartbeat for too long. The time before the start of this
// master does not count.
func (s *shared) isSilent(t record.Trial, now time.Time) bool {
	return lifecycle.IsSilent(later(later(t.Heard, t.RunBegan), later(t.Created, s.since)), now)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func (r *reconciler) endSilentTrial(ctx context.Context, e *entry, id int32, now time.Time) error {
	var ended record.Trial
	err := r.submit(ctx, e, &job{do: func(_ context.Context, _ *store.Tx, d *change.Draft) error {
		ended = record.Trial{}
		t, found := d.Trial(id)
		if !found || t.Life.State.Over() || !r.isSilent(t, now) { // a heartbeat arrived meanwhile
			return nil
		}
		if err := d.Elsewhere().EndRun(id, lifecycle.Lost); err != nil {
			return err
		}
		ended, _ = d.Trial(id)
		return nil
	}})
	if err == nil && ended.ID != 0 {
		r.writeEnd(ctx, ended)
	}
	return err
}

// refuseElsewhere returns FailedPrecondition if the experiment is unmanaged.
func refuseElsewhere(x record.Experiment, verb, instead string) error {
	if !x.Unmanaged {
		return nil
	}
	return status.New(status.FailedPrecondition, "cannot %s experiment %d: it is unmanaged, which means that its programs run outside the cluster; %s", verb, x.ID, instead)
}

// ElsewhereTask returns the trial of a task whose program runs outside the cluster, and false for
// any other task.
func (v *views) ElsewhereTask(ctx context.Context, id rm.TaskID) (record.TrialTasks, bool, error) {
	e, err := v.ofTask(id)
	if err != nil || !e.snapshot().Unmanaged {
		return record.TrialTasks{}, false, nil //nolint:nilerr // not a task of an experiment
	}
	x := e.snapshot()
	t, found := record.Trial{}, false
	if !e.readOpen(func(open *change.Experiment) { t, found = open.TrialOfTask(string(id)) }) {
		all, err := v.allTrials(ctx, e)
		if err != nil {
			return record.TrialTasks{}, false, err
		}
		if at := slices.IndexFunc(all, func(one record.Trial) bool { return one.Task() == string(id) }); at >= 0 {
			t, found = all[at], true
		}
	}
	return record.TrialTasks{Experiment: x.ID, Owner: x.UserID, Tasks: t.Tasks, Ended: t.Life.State.Over()}, found, nil
}
