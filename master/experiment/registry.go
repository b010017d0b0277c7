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

// registry holds all experiments.
type registry struct {
	mu      sync.RWMutex // guards the fields below; held only briefly
	entries map[int32]*entry
	// ordered lists the experiments by ID. Slices that readers hold are not modified.
	ordered []*entry
	// trials maps the trials in memory to their experiments.
	trials map[int32]int32
	jobs   map[rm.JobID]int32
}

func newRegistry() *registry {
	return &registry{entries: map[int32]*entry{}, trials: map[int32]int32{}, jobs: map[rm.JobID]int32{}}
}

// find returns an experiment, or NotFound.
func (r *registry) find(id int32) (*entry, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	e, found := r.entries[id]
	if !found {
		return nil, status.Missing("experiment", strconv.Itoa(int(id)))
	}
	return e, nil
}

// all returns the experiments ordered by ID. The caller must not modify the slice.
func (r *registry) all() []*entry {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.ordered
}

// place returns the index of an experiment in the order, or the index at which to insert it. The
// caller holds the lock.
func (r *registry) place(id int32) (at int, found bool) {
	if n := len(r.ordered); n == 0 || r.ordered[n-1].id < id {
		return n, false
	}
	return slices.BinarySearchFunc(r.ordered, id, func(e *entry, id int32) int { return cmp.Compare(e.id, id) })
}

// insert adds an experiment to the order. The caller holds the lock.
func (r *registry) insert(e *entry) {
	at, found := r.place(e.id)
	switch {
	case at == len(r.ordered):
		r.ordered = append(r.ordered, e)
	case !found:
		r.ordered = slices.Concat(r.ordered[:at], []*entry{e}, r.ordered[at:])
	}
}

// remove removes an experiment from the order. The caller holds the lock.
func (r *registry) remove(id int32) {
	if at, found := r.place(id); found {
		r.ordered = slices.Concat(r.ordered[:at], r.ordered[at+1:])
	}
}

// add adds a new experiment.
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

// note updates the registry after a draft of an experiment was stored. Only the caller that runs the
// batch calls it.
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

// ofJob returns the experiment of a job, or NotFound.
func (r *registry) ofJob(job rm.JobID) (*entry, error) {
	r.mu.RLock()
	id, found := r.jobs[job]
	r.mu.RUnlock()
	if !found {
		return nil, status.Missing("job", string(job))
	}
	return r.find(id)
}

// ofTrial returns the experiment of a trial, or NotFound.
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
