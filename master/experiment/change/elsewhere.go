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

// What follows is for experiments that run elsewhere: their programs say when trials begin and how they end, and
// nothing of them is started, signalled or compared here.

// AddTrial creates a trial of an experiment that runs elsewhere, or returns the one that has the external id
// already, which may be empty. An experiment that has ended continues.
func (d *Draft) AddTrial(externalID string, hparams map[string]any) (record.Trial, error) {
	if t, found := d.trialCalled(externalID); found {
		return t, nil
	}
	id, err := d.newID()
	if err != nil {
		return record.Trial{}, err
	}
	d.reopenElsewhere()
	request := uuid.NewString()
	t := record.Trial{
		ID: id, Experiment: d.Record.ID, RequestID: request, ExternalID: externalID,
		Tasks: []string{fmt.Sprintf("%d.%s", d.Record.ID, request)}, Created: d.now,
		Life: lifecycle.NewTrial(d.Record.State, d.Record.Searcher.SourceCheckpoint),
	}
	d.given[id] = maps.Clone(hparams)
	d.addTrial(t)
	d.note(record.Event{Kind: record.Reported, By: d.by, Trial: id, Reason: "its program created it"})
	return t, d.settle()
}

// trialCalled is the trial with an external id, none for an empty one.
func (d *Draft) trialCalled(externalID string) (record.Trial, bool) {
	if externalID == "" {
		return record.Trial{}, false
	}
	for _, t := range d.all() {
		if t.ExternalID == externalID {
			return t, true
		}
	}
	return record.Trial{}, false
}

// CheckElsewhere refuses what a program may not say of an experiment.
func (d *Draft) CheckElsewhere(verb string) error {
	switch s := d.Record.State; {
	case !d.Record.Unmanaged:
		return fmt.Errorf("%s experiment %d: it is run by the cluster; programs elsewhere report to experiments that they created", verb, d.Record.ID)
	case s == lifecycle.Deleting || s == lifecycle.Deleted || s == lifecycle.DeleteFailed:
		return fmt.Errorf("%s experiment %d: it is being deleted (%s)", verb, d.Record.ID, s)
	}
	return nil
}

// reopenElsewhere makes an experiment that has ended run again.
func (d *Draft) reopenElsewhere() {
	if !d.Record.State.Over() {
		return
	}
	d.Record.State, d.Record.Failure, d.Record.Ended = lifecycle.Active, "", time.Time{}
	d.Record.LogsDropped, d.Record.Archived = false, false
	d.note(record.Event{Kind: record.Continued, By: d.by, State: lifecycle.Active})
}

// BeginElsewhere begins the next run of a trial elsewhere, from a checkpoint with so many steps, or from none. Repeated
// before the run has said anything it answers with the same run.
func (d *Draft) BeginElsewhere(id int32, checkpoint string, steps int32) (record.Trial, error) {
	t, found := d.Trial(id)
	if err := d.CheckElsewhere("start a trial of"); err != nil || !found {
		return t, err
	}
	if t.Life.Running && t.Heard.IsZero() {
		return t, nil
	}
	d.reopenElsewhere()
	if t.Life.Running {
		d.note(record.Event{Kind: record.RunEnded, Trial: id, Run: t.Life.Run, Cause: lifecycle.Lost, Next: lifecycle.Again, Reason: "its program began again"})
	}
	if t.Life.State.Over() {
		d.Record.Open++
	}
	t = d.pauseClock(t)
	t.Life = t.Life.ResumeElsewhere()
	t.Ended, t.Reason, t.Silent, t.Progress, t.RunnerState = time.Time{}, "", false, 0, ""
	t.RunBegan, t.Heard, t.Base, t.Floating = d.now, time.Time{}, steps, true
	d.put(t)
	e := record.Event{Kind: record.RunBegan, By: d.by, Trial: id, Run: t.Life.Run}
	if checkpoint != "" {
		e.Reason = "from checkpoint " + checkpoint
	}
	d.note(e)
	return t, nil
}

// pauseClock adds what the present run took to what earlier ones did.
func (d *Draft) pauseClock(t record.Trial) record.Trial {
	if !t.RunBegan.IsZero() {
		t.Trained += max(0, d.now.Sub(t.RunBegan))
	}
	t.RunBegan = time.Time{}
	return t
}

// BaseAt is the step behind which the present run of a trial takes the place of earlier ones, for a report
// at some steps. A run elsewhere may start anywhere: it takes the place of what is at its first report or beyond, and never of less
// than what follows the checkpoint it was given.
func (d *Draft) BaseAt(t record.Trial, steps int64) int32 {
	if !t.Floating {
		return t.Base
	}
	first := int32(min(max(steps-1, 0), math.MaxInt32)) //nolint:gosec // it fits
	if t.Life.Checkpoint() == "" {
		return first
	}
	return min(t.Base, first)
}

// FixBase notes the base of a run upon its first report.
func (d *Draft) FixBase(id, base int32) {
	if t, found := d.Trial(id); found && t.Floating {
		t.Base, t.Floating = base, false
		d.put(t)
	}
}

// CheckListened refuses the words of a program elsewhere whose trial was ended.
func CheckListened(t record.Trial) error {
	if t.Life.State == lifecycle.Canceled && !t.Silent {
		return fmt.Errorf("trial %d was ended (%s); start it again to continue it", t.ID, t.Reason)
	}
	return nil
}

// Hear notes that the program of a trial elsewhere is there. One that had ended for its silence continues. The error
// says why it is not listened to any more.
func (d *Draft) Hear(id int32) error {
	t, found := d.Trial(id)
	if !d.Record.Unmanaged || !found {
		return nil
	}
	if err := d.CheckElsewhere("report about"); err != nil {
		return err
	}
	if err := CheckListened(t); err != nil {
		return err
	}
	if t.Silent {
		d.reopenElsewhere()
		d.Record.Open++
		t.Life = t.Life.ReviveElsewhere()
		t.Ended, t.Reason, t.Silent, t.RunBegan = time.Time{}, "", false, d.now
		d.note(record.Event{Kind: record.Continued, Trial: id, Run: t.Life.Run, State: lifecycle.Active, Reason: "its program was heard of again"})
	}
	t.Heard = d.now
	d.put(t)
	return nil
}

// EndElsewhere notes how the program of a trial elsewhere ended, and what becomes of the experiment. A trial that has ended stays as it is.
func (d *Draft) EndElsewhere(id int32, c lifecycle.Cause) error {
	t, found := d.Trial(id)
	if !d.Record.Unmanaged || !found || t.Life.State.Over() {
		return nil
	}
	t = d.pauseClock(t)
	t.Life, t.Reason = t.Life.EndElsewhere(c)
	t.Silent = c == lifecycle.Lost
	d.note(record.Event{Kind: record.RunEnded, By: d.by, Trial: id, Run: t.Life.Run, Cause: c, Next: lifecycle.Done, Reason: t.Reason})
	d.setTrial(t)
	return d.settle()
}

// explainFailure notes why a program elsewhere failed: the library says that it did first, and then why.
func (d *Draft) explainFailure(t record.Trial) bool {
	if t.Life.Invalid() {
		return true
	}
	t.Life.InvalidSince, t.Reason = new(d.now), "its hyperparameters are impossible"
	d.note(record.Event{Kind: record.Reported, Trial: t.ID, Run: t.Life.Run, Reason: "its program found its hyperparameters impossible"})
	d.put(t)
	return true
}

// EndUnused ends an experiment elsewhere of which no trial was ever created.
func (d *Draft) EndUnused() error {
	if !d.Record.Unmanaged || d.Record.Trials > 0 || d.Record.State.Over() {
		return errors.New("end an experiment that is not used: it is")
	}
	return d.Ask(lifecycle.Cancel, "no trial was created")
}

// leave takes a trial elsewhere from its program, which cannot be stopped from here.
func (d *Draft) leave(t record.Trial) record.Trial {
	t = d.pauseClock(t)
	t.Life.Running, t.Reason = false, "it was ended by "+d.by
	return t
}

// progressElsewhere is the program's word of a single trial, and the share of trials that ended of several.
func (d *Draft) progressElsewhere() float64 {
	if d.Record.Trials == 1 {
		return d.all()[0].Progress
	}
	return float64(d.Record.Trials-d.Record.Open) / float64(max(d.Record.Trials, 1))
}
