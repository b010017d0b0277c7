package change

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"time"

	"github.com/google/uuid"

	"github.com/det-deploy/det-deploy/master/experiment/lifecycle"
	"github.com/det-deploy/det-deploy/master/experiment/record"
)

// Elsewhere changes the draft of an unmanaged experiment. Programs outside the cluster report when
// trials start and end; the cluster does not start, signal or compare them.
type Elsewhere struct{ d *Draft }

// Elsewhere returns the part of the draft for unmanaged experiments.
func (d *Draft) Elsewhere() Elsewhere { return Elsewhere{d} }

// AddTrial creates an unmanaged trial, or returns the existing trial with the external ID, which may
// be empty. It reopens an ended experiment.
func (w Elsewhere) AddTrial(externalID string, hparams map[string]any) (record.Trial, error) {
	if t, found := w.trialCalled(externalID); found {
		return t, nil
	}
	id, err := w.d.newID()
	if err != nil {
		return record.Trial{}, err
	}
	w.reopen()
	request := uuid.NewString()
	t := record.Trial{
		ID: id, Experiment: w.d.Record.ID, RequestID: request, ExternalID: externalID,
		Tasks: []string{fmt.Sprintf("%d.%s", w.d.Record.ID, request)}, Created: w.d.now,
		Life: lifecycle.NewTrial(w.d.Record.State, w.d.Record.Searcher.SourceCheckpoint),
	}
	w.d.given[id] = maps.Clone(hparams)
	w.d.addTrial(t)
	w.d.note(record.Event{Kind: record.Reported, By: w.d.by, Trial: id, Reason: "created by its program"})
	return t, w.d.settle()
}

// trialCalled returns the trial with an external ID, and false if the ID is empty or unused.
func (w Elsewhere) trialCalled(externalID string) (record.Trial, bool) {
	if externalID == "" {
		return record.Trial{}, false
	}
	for _, t := range w.d.trials.all() {
		if t.ExternalID == externalID {
			return t, true
		}
	}
	return record.Trial{}, false
}

// Check returns an error if the experiment is managed by the cluster or is being deleted.
func (w Elsewhere) Check(verb string) error {
	switch s := w.d.Record.State; {
	case !w.d.Record.Unmanaged:
		return fmt.Errorf("cannot %s experiment %d: it is managed by the cluster; programs outside the cluster may only report to unmanaged experiments", verb, w.d.Record.ID)
	case s == lifecycle.Deleting || s == lifecycle.Deleted || s == lifecycle.DeleteFailed:
		return fmt.Errorf("cannot %s experiment %d: it is being deleted (%s)", verb, w.d.Record.ID, s)
	}
	return nil
}

// reopen makes an ended experiment active.
func (w Elsewhere) reopen() {
	if !w.d.Record.State.Over() {
		return
	}
	w.d.Record.State, w.d.Record.Failure, w.d.Record.Ended = lifecycle.Active, "", time.Time{}
	w.d.Record.LogsDropped, w.d.Record.Archived = false, false
	w.d.note(record.Event{Kind: record.Continued, By: w.d.by, State: lifecycle.Active})
}

// BeginRun starts the next run of an unmanaged trial from a checkpoint with the given number of
// steps, or from the beginning. If the current run has not reported yet, it returns the same run.
func (w Elsewhere) BeginRun(id int32, checkpoint string, steps int32) (record.Trial, error) {
	t, found := w.d.Trial(id)
	if err := w.Check("start a trial of"); err != nil || !found {
		return t, err
	}
	if t.Life.Running && t.Heard.IsZero() {
		return t, nil
	}
	w.reopen()
	if t.Life.Running {
		w.d.note(record.Event{Kind: record.RunEnded, Trial: id, Run: t.Life.Run, Cause: lifecycle.Lost, Next: lifecycle.Again, Reason: "its program was restarted"})
	}
	if t.Life.State.Over() {
		w.d.Record.Open++
	}
	t = pauseClock(t, w.d.now)
	t.Life = t.Life.ResumeElsewhere()
	t.Ended, t.Reason, t.Silent, t.Progress, t.RunnerState = time.Time{}, "", false, 0, ""
	t.RunBegan, t.Heard, t.Base, t.Floating = w.d.now, time.Time{}, steps, true
	w.d.trials.put(t)
	e := record.Event{Kind: record.RunBegan, By: w.d.by, Trial: id, Run: t.Life.Run}
	if checkpoint != "" {
		e.Reason = "from checkpoint " + checkpoint
	}
	w.d.note(e)
	return t, nil
}

// BaseAt returns the step after which the current run replaces the reports of earlier runs. An
// unmanaged run may start at any step, so its first report determines the base. The base is never
// beyond the checkpoint from which the run was started.
func (w Elsewhere) BaseAt(t record.Trial, steps int64) int32 {
	if !t.Floating {
		return t.Base
	}
	first := int32(min(max(steps-1, 0), math.MaxInt32)) //nolint:gosec // it fits
	if t.Life.Checkpoint() == "" {
		return first
	}
	return min(t.Base, first)
}

// FixBase sets the base of a run at its first report.
func (w Elsewhere) FixBase(id, base int32) {
	if t, found := w.d.Trial(id); found && t.Floating {
		t.Base, t.Floating = base, false
		w.d.trials.put(t)
	}
}

// CheckListened returns an error if a user ended the unmanaged trial, so that messages of its
// program are no longer accepted.
func CheckListened(t record.Trial) error {
	if t.Life.State == lifecycle.Canceled && !t.Silent {
		return fmt.Errorf("trial %d was canceled (%s); start it again to continue", t.ID, t.Reason)
	}
	return nil
}

// Hear records a message from the program of an unmanaged trial. It revives a trial that ended
// because its program was silent. It returns an error if messages of the program are no longer
// accepted.
func (w Elsewhere) Hear(id int32) error {
	t, found := w.d.Trial(id)
	if !w.d.Record.Unmanaged || !found {
		return nil
	}
	if err := w.Check("report to"); err != nil {
		return err
	}
	if err := CheckListened(t); err != nil {
		return err
	}
	if t.Silent {
		w.reopen()
		w.d.Record.Open++
		t.Life = t.Life.ReviveElsewhere()
		t.Ended, t.Reason, t.Silent, t.RunBegan = time.Time{}, "", false, w.d.now
		w.d.note(record.Event{Kind: record.Continued, Trial: id, Run: t.Life.Run, State: lifecycle.Active, Reason: "its program reported again"})
	}
	t.Heard = w.d.now
	w.d.trials.put(t)
	return nil
}

// EndRun ends the run of an unmanaged trial and, if it was the last one, the experiment. An ended
// trial does not change.
func (w Elsewhere) EndRun(id int32, c lifecycle.Cause) error {
	t, found := w.d.Trial(id)
	if !w.d.Record.Unmanaged || !found || t.Life.State.Over() {
		return nil
	}
	t = pauseClock(t, w.d.now)
	t.Life, t.Reason = t.Life.EndElsewhere(c)
	t.Silent = c == lifecycle.Lost
	w.d.note(record.Event{Kind: record.RunEnded, By: w.d.by, Trial: id, Run: t.Life.Run, Cause: c, Next: lifecycle.Done, Reason: t.Reason})
	w.d.setTrial(t)
	return w.d.settle()
}

// EndUnused cancels an unmanaged experiment without trials. It returns an error if the experiment
// has trials or has ended.
func (w Elsewhere) EndUnused() error {
	if !w.d.Record.Unmanaged || w.d.Record.Trials > 0 || w.d.Record.State.Over() {
		return errors.New("cannot end the experiment as unused: it has trials or has ended")
	}
	return w.d.Requests().Ask(lifecycle.Cancel, "no trial was created")
}
