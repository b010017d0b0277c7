package experiment

import (
	"context"
	"errors"
	"strconv"

	"github.com/det-deploy/det-deploy/master/api/status"
	"github.com/det-deploy/det-deploy/master/experiment/change"
	"github.com/det-deploy/det-deploy/master/experiment/lifecycle"
	"github.com/det-deploy/det-deploy/master/experiment/program"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/store"
)

// takeBatch puts several pieces of news into one transaction.
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

// runJob lets a job do its part. A refusal is the job's own; every other error is the whole batch's.
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

// isRefusal says that an error is the caller's, and that nothing was stored for it.
func isRefusal(err error) bool {
	_, refusal := errors.AsType[*status.Error](err)
	return refusal
}

// failAll answers those that were not refused already.
func failAll(batch []*job, err error) {
	for _, j := range batch {
		if j.err == nil || !isRefusal(j.err) {
			j.err = err
		}
	}
}

// workingCopy is the experiment that a batch is about: the one in memory, or the one in the store.
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

// publish shows what was stored, and wakes who carries it out.
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

// isOpen says that an experiment is kept in memory whole.
func isOpen(x record.Experiment) bool { return !x.State.Over() }
