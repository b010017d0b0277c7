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

// StoredTasks are tasks whose records are in the same store, so that both sides record an event in one
// transaction. Its calls may be repeated like those of rm.Tasks.
type StoredTasks interface {
	// AssignedWith is rm.Tasks.Assigned. Also is written in the same transaction, even if the call is a
	// repetition; after an error it may not be written.
	AssignedWith(ctx context.Context, a rm.Assignment, also func(*store.Tx) error) ([]*agentv1.Spec, error)
	// ReportedWith is rm.Tasks.Changed for each change of an allocation, in order, followed by
	// rm.Tasks.Ended unless end is nil. Also, which may be nil, is written with them, or after an error
	// perhaps with a repetition.
	ReportedWith(ctx context.Context, id rm.AllocationID, changes []rm.ContainerChange, end *rm.End, also func(*store.Tx) error) error
}

// separate adapts tasks whose records are elsewhere. Each event is stored there before its effects are
// stored here, so that it may be repeated at any point.
type separate struct {
	tasks rm.Tasks
	store *store.Store

	mu sync.Mutex // guards told
	// told are the reported states of containers whose allocation has not ended.
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

// tellChange reports a change once.
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

// storeError is a failed write. It does not concern the content of the write.
type storeError struct{ err error }

func (e *storeError) Error() string { return e.err.Error() }

// Unwrap returns the error of the store.
func (e *storeError) Unwrap() error { return e.err }

// isOfStore reports whether an error comes from the store, so that the write has to be retried.
func isOfStore(err error) bool {
	if _, found := errors.AsType[*storeError](err); found {
		return true
	}
	of := func(kind error) bool { return errors.Is(err, kind) }
	return slices.ContainsFunc([]error{
		store.ErrUnavailable, store.ErrOutcomeUnknown, store.ErrFull, store.ErrFenced, store.ErrNoLease, store.ErrClosed,
	}, of)
}
