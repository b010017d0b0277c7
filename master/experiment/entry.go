package experiment

import (
	"context"
	"sync"

	"github.com/det-deploy/det-deploy/master/experiment/change"
	"github.com/det-deploy/det-deploy/master/experiment/program"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/store"
)

// entry is one experiment. What happens to it happens in an order: one caller at a time takes all that
// waits into one transaction, and answers all of it.
type entry struct {
	id int32

	mu      sync.Mutex // guards the two below
	waiting []*job
	busy    bool

	// applied is what the queue was told last; it is the reconciler's.
	applied *record.Queue

	state sync.RWMutex // guards what follows; held for moments only
	// rec is never changed: another takes its place.
	rec *record.Experiment
	// open is the whole experiment while it has not ended, nil otherwise.
	open *change.Experiment
	// written is the configuration as programs of its trials read it, empty until the first one did.
	written program.Written
	// stale says that the store knows better: a write of which the search knew was not done, or
	// its outcome is unknown.
	stale bool
	// gone says that the experiment was deleted.
	gone bool
}

// job is one piece of news. Do must refuse before it changes anything that Undo does not take back.
type job struct {
	by string
	// light needs neither trials nor the search: an ended experiment is not loaded for it.
	light bool
	do    func(ctx context.Context, tx *store.Tx, d *change.Draft) error

	err  error
	done chan struct{}
	lead chan struct{}
}

// submit takes a piece of news to the experiment and returns when it is stored, or why it is not.
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
	// Others' news must not fail because this caller has gone.
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

// snapshot is the experiment as it was stored last.
func (e *entry) snapshot() record.Experiment { return *e.stored() }

// stored is snapshot without a copy. It must not be changed.
func (e *entry) stored() *record.Experiment {
	e.state.RLock()
	defer e.state.RUnlock()
	return e.rec
}

// readOpen calls read with the open experiment, and says whether it is open.
func (e *entry) readOpen(read func(*change.Experiment)) bool {
	e.state.RLock()
	defer e.state.RUnlock()
	if e.open == nil {
		return false
	}
	read(e.open)
	return true
}
