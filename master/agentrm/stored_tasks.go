package agentrm

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/store"
)

// StoredTasks are tasks that are kept in the same store: what both keep of one thing that
// happened is one transaction. It may be repeated like the calls of rm.Tasks.
type StoredTasks interface {
	// AssignedWith is rm.Tasks.Assigned. Also is written with it, also where it is repeated; after an
	// error it may not be.
	AssignedWith(ctx context.Context, a rm.Assignment, also func(*store.Tx) error) ([]*agentv1.Spec, error)
	// ReportedWith is rm.Tasks.Changed for each change of an allocation, in order, and then
	// rm.Tasks.Ended, unless end is nil. Also, which may be nil, is written with them, or, after an
	// error, perhaps with a repetition.
	ReportedWith(ctx context.Context, id rm.AllocationID, changes []rm.ContainerChange, end *rm.End, also func(*store.Tx) error) error
}

// separate are tasks that are kept elsewhere. What is told to them is stored before what follows
// from it, so that it may be repeated at any point.
type separate struct {
	tasks rm.Tasks
	store *store.Store

	mu sync.Mutex // guards told
	// told are the states that were taken of containers whose allocation has not ended.
	told map[rm.AllocationID]map[rm.ContainerID]apiv1.Container_State
}

func tasksOf(c Config) StoredTasks {
	if t, found := c.Tasks.(StoredTasks); found {
		return t
	}
	return &separate{tasks: c.Tasks, store: c.Store, told: make(map[rm.AllocationID]map[rm.ContainerID]apiv1.Container_State)}
}

// AssignedWith implements StoredTasks.
func (s *separate) AssignedWith(ctx context.Context, a rm.Assignment, also func(*store.Tx) error) ([]*agentv1.Spec, error) {
	if err := s.store.Write(ctx, also); err != nil {
		return nil, &storeError{err}
	}
	return s.tasks.Assigned(ctx, a)
}

// ReportedWith implements StoredTasks.
func (s *separate) ReportedWith(ctx context.Context, id rm.AllocationID, changes []rm.ContainerChange, end *rm.End, also func(*store.Tx) error) error {
	for _, c := range changes {
		if err := s.tellChange(ctx, c); err != nil {
			return err
		}
	}
	if end != nil {
		if err := s.tasks.Ended(ctx, id, *end); err != nil {
			return err
		}
		s.forget(id)
	}
	if also == nil {
		return nil
	}
	return s.store.Write(ctx, also)
}

// tellChange tells a change once.
func (s *separate) tellChange(ctx context.Context, c rm.ContainerChange) error {
	s.mu.Lock()
	told := s.told[c.Allocation][c.Container]
	s.mu.Unlock()
	if c.State <= told {
		return nil
	}
	if err := s.tasks.Changed(ctx, c); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.told[c.Allocation] == nil {
		s.told[c.Allocation] = make(map[rm.ContainerID]apiv1.Container_State)
	}
	s.told[c.Allocation][c.Container] = c.State
	return nil
}

func (s *separate) forget(id rm.AllocationID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.told, id)
}

// storeError is a write that was not done: it says nothing of what was to be written.
type storeError struct{ err error }

func (e *storeError) Error() string { return e.err.Error() }

// Unwrap is the store's own.
func (e *storeError) Unwrap() error { return e.err }

// isOfStore reports whether an error is the store's: what was to be written is written later.
func isOfStore(err error) bool {
	if _, found := errors.AsType[*storeError](err); found {
		return true
	}
	of := func(kind error) bool { return errors.Is(err, kind) }
	return slices.ContainsFunc([]error{
		store.ErrUnavailable, store.ErrOutcomeUnknown, store.ErrFull, store.ErrFenced, store.ErrNoLease, store.ErrClosed,
	}, of)
}
