package experiment

import (
	"context"
	"errors"
	"reflect"
	"strconv"
	"time"

	"github.com/det-deploy/det-deploy/master/api/status"
	"github.com/det-deploy/det-deploy/master/experiment/change"
	"github.com/det-deploy/det-deploy/master/experiment/lifecycle"
	"github.com/det-deploy/det-deploy/master/experiment/program"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/quota"
	"github.com/det-deploy/det-deploy/master/store"
)

// takeBatch runs several jobs in one transaction. If the transaction fails, all of them fail.
func (s *shared) takeBatch(ctx context.Context, e *entry, batch []*job) {
	x, err := s.workingCopy(ctx, e, batch)
	if err != nil {
		failAll(batch, err)
		return
	}
	var d *change.Draft
	err = s.cfg.Store.Write(ctx, func(tx *store.Tx) error {
		d = x.Draft(s.cfg.Now().UTC(), func() (int32, error) { return nextID(ctx, tx, "trial") })
		for _, j := range batch {
			if err := runJob(ctx, tx, d, j); err != nil {
				return err
			}
		}
		d.Seal()
		return s.storeDraft(ctx, tx, d)
	})
	if err != nil {
		failAll(batch, err)
		e.state.Lock()
		e.stale = true
		e.state.Unlock()
		return
	}
	s.publish(e, x, d)
}

// runJob runs a job. It returns an error if the whole batch must fail; the error of a refused
// request is stored in the job instead.
func runJob(ctx context.Context, tx *store.Tx, d *change.Draft, j *job) error {
	d.Begin(j.by)
	j.err = j.do(ctx, tx, d)
	if j.err == nil {
		return nil
	}
	if !isRefusal(j.err) || !d.Undo() {
		return j.err
	}
	return nil
}

// isRefusal reports whether the caller caused the error, so that nothing was stored for it.
func isRefusal(err error) bool {
	_, refusal := errors.AsType[*status.Error](err)
	return refusal
}

// failAll fails the jobs that were not refused already.
func failAll(batch []*job, err error) {
	for _, j := range batch {
		if j.err == nil || !isRefusal(j.err) {
			j.err = err
		}
	}
}

// workingCopy returns the experiment for a batch, from memory or from the store. It returns NotFound
// if the experiment was deleted.
func (s *shared) workingCopy(ctx context.Context, e *entry, batch []*job) (*change.Experiment, error) {
	e.state.RLock()
	open, rec, stale, gone := e.open, *e.rec, e.stale, e.gone
	e.state.RUnlock()
	if gone {
		return nil, status.Missing("experiment", strconv.Itoa(int(e.id)))
	}
	light := true
	for _, j := range batch {
		light = light && j.light
	}
	switch {
	case open != nil && !stale:
		return open, nil
	case light && !stale:
		return change.Light(rec), nil
	}
	x, err := load(ctx, s.cfg.Store, e.id)
	if err != nil {
		return nil, err
	}
	e.state.Lock()
	defer e.state.Unlock()
	e.stale, e.rec, e.written = false, new(x.Record), program.Written{}
	if e.open != nil {
		e.open = x
	}
	return x, nil
}

// publish makes the stored draft visible and wakes the reconciler and the checkpoint collector.
func (s *shared) publish(e *entry, x *change.Experiment, d *change.Draft) {
	e.state.Lock()
	x.Publish(d)
	e.rec, e.gone = new(x.Record), x.Record.State == lifecycle.Deleted
	e.open = nil
	if d.Config != nil || !isOpen(x.Record) {
		e.written = program.Written{}
	}
	if isOpen(x.Record) {
		e.open = x
	}
	e.state.Unlock()
	s.reg.note(e, x, d)
	if s.needsWork(x.Record) {
		s.dirty.wake(e.id)
	}
	if isOpen(d.Before()) && !isOpen(x.Record) {
		s.cfg.Checkpoints.Wake()
	}
}

// isOpen reports whether the experiment has not ended. Open experiments are kept in memory with
// their trials.
func isOpen(x record.Experiment) bool { return !x.State.Over() }

// storeDraft writes the changes of a draft.
func (s *shared) storeDraft(ctx context.Context, tx *store.Tx, d *change.Draft) error {
	if d.Record.State == lifecycle.Deleted {
		s.cfg.Quota.Add(tx, d.Record.UserID, quota.Definitions, -d.Record.ModelBytes)
		return dropExperiment(tx, d.Record)
	}
	docs := record.Docs()
	if d.Before().Events == 0 || !reflect.DeepEqual(d.Record, d.Before()) { // most reports change only a trial
		if err := putExperiment(tx, d.Record); err != nil {
			return err
		}
	}
	if d.Config != nil {
		if err := replaceConfig(ctx, tx, d); err != nil {
			return err
		}
	}
	for _, t := range d.Changed() {
		if err := putTrial(tx, t); err != nil {
			return err
		}
	}
	if err := record.PutHparams(tx, d.Hparams()); err != nil {
		return err
	}
	search, others := record.EventParents(d.Record.ID)
	for _, e := range d.Events {
		parent := others
		if e.Search != nil {
			parent = search
		}
		if err := docs.Events.Put(tx, record.EventKey(d.Record.ID, e.Number), parent, e.At, e); err != nil {
			return err
		}
	}
	return s.storeReferences(tx, d)
}

func putExperiment(tx *store.Tx, x record.Experiment) error {
	return record.Docs().Experiments.Put(tx, record.Key(x.ID), "", x.Started, x)
}

func putTrial(tx *store.Tx, t record.Trial) error {
	return record.Docs().Trials.Put(tx, record.Key(t.ID), record.Key(t.Experiment), t.Created, t)
}

// storeReferences updates the references to checkpoints: a trial keeps the checkpoint that it
// started from while the trial exists, and an open experiment keeps the source of its trials. After
// the experiment has ended, its checkpoint policy applies.
func (s *shared) storeReferences(tx *store.Tx, d *change.Draft) error {
	for _, id := range d.Created() {
		t, _ := d.Trial(id)
		if t.Life.WarmStart == "" {
			continue
		}
		if err := record.Docs().Sources.Put(tx, record.Key(id), t.Life.WarmStart, time.Time{}, struct{}{}); err != nil {
			return err
		}
	}
	source, began, ended := d.Record.Searcher.SourceCheckpoint, d.Opens(), isOpen(d.Before()) && !isOpen(d.Record)
	switch {
	case began && source != "":
		return s.cfg.Checkpoints.KeepSource(tx, d.Record.ID, source)
	case ended:
		return errors.Join(s.cfg.Checkpoints.KeepSource(tx, d.Record.ID, ""), s.cfg.Checkpoints.Collect(tx, d.Record.ID))
	}
	return nil
}

// replaceConfig stores a changed configuration and keeps the submitted text.
func replaceConfig(ctx context.Context, tx *store.Tx, d *change.Draft) error {
	docs, key := record.Docs(), record.Key(d.Record.ID)
	old, _, err := docs.Configs.Get(ctx, tx, key)
	changed, bad := newConfig(old.Value.Original, *d.Config)
	if err := errors.Join(err, bad); err != nil {
		return err
	}
	return docs.Configs.Put(tx, key, "", time.Time{}, changed)
}

// nextID returns the next ID. IDs of deleted objects are not reused.
func nextID(ctx context.Context, tx *store.Tx, of string) (int32, error) {
	counters := record.Docs().Counters
	d, _, err := counters.Get(ctx, tx, of)
	if err != nil {
		return 0, err
	}
	d.Value++
	return d.Value, counters.Put(tx, of, "", time.Time{}, d.Value)
}
