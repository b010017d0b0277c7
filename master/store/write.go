package store

import (
	"context"
	"errors"
	"sync/atomic"
)

const (
	// queueLength limits the pending writes. Further callers block in Write, so that memory stays
	// bounded and no write is dropped.
	queueLength = 1024
	// groupLimit limits the writes of one commit, and with it the time for which the first waits for
	// the last: at 20 µs each in SQLite some 10 ms, about the duration of a disk sync.
	groupLimit = 512
)

// Write runs fn in a transaction and returns after its changes are durable.
//
// Concurrent writes are committed together. If fn returns an error, only its own changes are rolled
// back, and Write returns the error. fn runs in the writer's goroutine, so that it must only use tx,
// must not block and must not call Write. It is called at most once.
//
// The result is definite: nil means that the changes are durable, and any error except
// ErrOutcomeUnknown that nothing was changed. If ctx is done before fn is called, Write returns its
// error without calling fn. After that Write waits for the result even if ctx is done, because it
// must not report an error for changes that become durable.
func (s *Store) Write(ctx context.Context, fn func(*Tx) error) error {
	err := s.enqueueRequest(ctx, &request{ctx: ctx, fn: fn})
	if errors.Is(err, ErrFull) {
		s.full.Store(true)
	}
	return err
}

// request is one write in the queue. Its state decides the race between the writer that starts it and
// the caller that gives up.
//
//	waiting ──writer──▶ begun ──▶ answered
//	   └─────caller───▶ abandoned
type request struct {
	ctx   context.Context // the context of the caller
	fn    func(*Tx) error
	raw   func(ctx context.Context, w *writer) error // instead of fn: runs alone, without the lease
	state atomic.Int32
	// ended are called with the result before the caller receives it.
	ended []func(error)
	// counted are the changes of the users' stored sizes.
	counted []UserBytes
	done    chan error
}

const (
	requestWaiting int32 = iota
	requestBegun
	requestAbandoned
)

func (r *request) begin() bool {
	return r.ctx.Err() == nil && r.state.CompareAndSwap(requestWaiting, requestBegun)
}

func (r *request) abandon() bool {
	return r.state.CompareAndSwap(requestWaiting, requestAbandoned)
}

func (r *request) answer(err error) {
	for _, fn := range r.ended {
		fn(err)
	}
	r.done <- err
}

func (s *Store) enqueueRequest(ctx context.Context, r *request) error {
	if s.queue == nil {
		return ErrReadOnly
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	r.done = make(chan error, 1)
	if err := s.sendRequest(ctx, r); err != nil {
		return err
	}
	select {
	case err := <-r.done:
		return err
	case <-ctx.Done():
	}
	if r.abandon() {
		return ctx.Err()
	}
	return <-r.done
}

// sendRequest holds the gate while it waits for a place in the queue, so that Close cannot close the
// queue between the check and the send.
func (s *Store) sendRequest(ctx context.Context, r *request) error {
	s.gate.RLock()
	defer s.gate.RUnlock()
	if s.closed {
		return ErrClosed
	}
	select {
	case s.queue <- r:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// serveRequests is the writer's goroutine. It ends when the queue is closed and empty.
func (s *Store) serveRequests(ctx context.Context, w *writer) {
	defer close(s.served)
	var next *request
	for {
		first := next
		if next = nil; first == nil {
			r, open := <-s.queue
			if !open {
				w.hangUp()
				return
			}
			first = r
		}
		if first.raw != nil {
			w.runAlone(ctx, first)
			continue
		}
		var group []*request
		group, next = s.gatherGroup(first)
		w.runGroup(ctx, group)
		w.boundWAL(ctx)
	}
}

// gatherGroup takes the writes that are already queued without waiting: under load groups form
// during the previous commit, and a single write is not delayed. A request that must run alone ends
// the group and is returned separately.
func (s *Store) gatherGroup(first *request) (group []*request, next *request) {
	group = []*request{first}
	for len(group) < groupLimit {
		select {
		case r, open := <-s.queue:
			if !open {
				return group, nil
			}
			if r.raw != nil {
				return group, r
			}
			group = append(group, r)
		default:
			return group, nil
		}
	}
	return group, nil
}

// runAlone runs a request that does not need the lease, such as the one that acquires it.
func (w *writer) runAlone(ctx context.Context, r *request) {
	if !r.begin() {
		r.answer(r.ctx.Err())
		return
	}
	ctx, cancel := context.WithTimeout(ctx, aloneLimit)
	defer cancel()
	stop := context.AfterFunc(r.ctx, cancel) //nolint:contextcheck // the context of the caller, which may cancel its own request
	defer stop()
	err := w.openConnection(ctx)
	if err == nil {
		err = r.raw(ctx, w)
	}
	if err != nil {
		w.abortTransaction(ctx)
		err = w.classifyError(ctx, err)
	}
	r.answer(err)
}
