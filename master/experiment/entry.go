package experiment

import (
	"context"
	"sync"

	"github.com/det-deploy/det-deploy/master/experiment/change"
	"github.com/det-deploy/det-deploy/master/experiment/program"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/store"
)

// entry is one experiment in memory. Jobs of one experiment run in order: one of the callers runs
// all waiting jobs in one transaction and answers the others.
type entry struct {
	id int32

	mu      sync.Mutex // guards waiting and busy
	waiting []*job
	busy    bool

	// applied holds the queue settings that the scheduler received last. Only the reconciler uses
	// it.
	applied *record.Queue

	state sync.RWMutex // guards the fields below; held only briefly
	// rec is replaced and never modified.
	rec *record.Experiment
	// open is the experiment with its trials, nil after it has ended.
	open *change.Experiment
	// written is the encoded configuration for programs of trials. It is empty until a trial starts.
	written program.Written
	// stale reports that the copy in memory must be reloaded, because a write failed or its outcome
	// is unknown.
	stale bool
	// gone reports that the experiment was deleted.
	gone bool
}

// job is one change of an experiment. It must return a refusal before it changes anything that Undo
// does not revert.
type job struct {
	by string
	// light jobs need neither trials nor the search, so that an ended experiment is not loaded.
	light bool
	do    func(ctx context.Context, tx *store.Tx, d *change.Draft) error

	err  error
	done chan struct{}
	lead chan struct{}
}

// submit runs a job on the experiment. It returns the job's error after the transaction has
// committed or failed.
func (s *shared) submit(ctx context.Context, e *entry, j *job) error {
	j.done, j.lead = make(chan struct{}), make(chan struct{})
	e.mu.Lock()
	e.waiting = append(e.waiting, j)
	follows := e.busy
	e.busy = true
	e.mu.Unlock()
	if follows {
		select {
		case <-j.done:
			return j.err
		case <-j.lead:
		}
	}
	e.mu.Lock()
	batch := e.waiting
	e.waiting = nil
	e.mu.Unlock()
	// The jobs of other callers must not fail if this caller cancels.
	s.takeBatch(context.WithoutCancel(ctx), e, batch)
	for _, one := range batch {
		close(one.done)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.busy = len(e.waiting) > 0; e.busy {
		close(e.waiting[0].lead)
	}
	return j.err
}

// snapshot returns a copy of the latest stored record.
func (e *entry) snapshot() record.Experiment { return *e.stored() }

// stored returns the latest stored record. The caller must not modify it.
func (e *entry) stored() *record.Experiment {
	e.state.RLock()
	defer e.state.RUnlock()
	return e.rec
}

// readOpen calls read with the open experiment and reports whether the experiment is open.
func (e *entry) readOpen(read func(*change.Experiment)) bool {
	e.state.RLock()
	defer e.state.RUnlock()
	if e.open == nil {
		return false
	}
	read(e.open)
	return true
}
