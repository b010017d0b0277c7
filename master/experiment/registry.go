package experiment

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/det-deploy/det-deploy/master/api/status"
	"github.com/det-deploy/det-deploy/master/experiment/change"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/rm"
)

// registry is all experiments.
type registry struct {
	mu      sync.RWMutex // guards what follows; held for moments only
	entries map[int32]*entry
	// ordered is all of them by number. What a reader has taken of it does not change.
	ordered []*entry
	// trials is which experiment the trials belong to that are in memory.
	trials map[int32]int32
	jobs   map[rm.JobID]int32
}

func newRegistry() *registry {
	return &registry{entries: map[int32]*entry{}, trials: map[int32]int32{}, jobs: map[rm.JobID]int32{}}
}

// find is one experiment. The error has the code NotFound.
func (r *registry) find(id int32) (*entry, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	e, found := r.entries[id]
	if !found {
		return nil, status.Missing("experiment", strconv.Itoa(int(id)))
	}
	return e, nil
}

// all is every experiment by its number; the caller must not change it.
func (r *registry) all() []*entry {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.ordered
}

// place is where an experiment is in the order, or belongs. The caller holds the lock.
func (r *registry) place(id int32) (at int, found bool) {
	if n := len(r.ordered); n == 0 || r.ordered[n-1].id < id {
		return n, false
	}
	return slices.BinarySearchFunc(r.ordered, id, func(e *entry, id int32) int { return cmp.Compare(e.id, id) })
}

// insert puts an experiment into the order. The caller holds the lock.
func (r *registry) insert(e *entry) {
	at, found := r.place(e.id)
	switch {
	case at == len(r.ordered):
		r.ordered = append(r.ordered, e)
	case !found:
		r.ordered = slices.Concat(r.ordered[:at], []*entry{e}, r.ordered[at:])
	}
}

// remove takes an experiment out of the order. The caller holds the lock.
func (r *registry) remove(id int32) {
	if at, found := r.place(id); found {
		r.ordered = slices.Concat(r.ordered[:at], r.ordered[at+1:])
	}
}

// add shows a new experiment.
func (r *registry) add(e *entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.entries[e.id] = e
	r.insert(e)
	r.jobs[rm.JobID(e.rec.JobID)] = e.id
	if e.open != nil {
		for _, t := range e.open.Trials() {
			r.trials[t.ID] = e.id
		}
	}
}

// note follows what a draft made of an experiment. The caller leads it.
func (r *registry) note(e *entry, x *change.Experiment, d *change.Draft) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range d.Created() {
		r.trials[id] = e.id
	}
	if isOpen(x.Record) && !isOpen(d.Before()) {
		for _, t := range x.Trials() {
			r.trials[t.ID] = e.id
		}
	}
	if !isOpen(x.Record) && isOpen(d.Before()) {
		for _, t := range x.Trials() {
			delete(r.trials, t.ID)
		}
	}
	if e.gone {
		delete(r.entries, e.id)
		r.remove(e.id)
		delete(r.jobs, rm.JobID(x.Record.JobID))
	}
}

// ofJob is the experiment that is a job. The error has the code NotFound.
func (r *registry) ofJob(job rm.JobID) (*entry, error) {
	r.mu.RLock()
	id, found := r.jobs[job]
	r.mu.RUnlock()
	if !found {
		return nil, status.Missing("job", string(job))
	}
	return r.find(id)
}

// ofTrial is the experiment of a trial. The error has the code NotFound.
func (s *shared) ofTrial(ctx context.Context, trial int32) (*entry, error) {
	s.reg.mu.RLock()
	id, found := s.reg.trials[trial]
	s.reg.mu.RUnlock()
	if !found {
		d, stored, err := record.Docs().Trials.Get(ctx, s.cfg.Store, record.Key(trial))
		if err != nil {
			return nil, fmt.Errorf("read trial %d: %w", trial, err)
		}
		if !stored {
			return nil, status.Missing("trial", strconv.Itoa(int(trial)))
		}
		id = d.Value.Experiment
	}
	e, err := s.reg.find(id)
	if err != nil {
		return nil, status.Missing("trial", strconv.Itoa(int(trial)))
	}
	return e, nil
}
