package store

import (
	"context"
	"errors"
	"sync/atomic"
)

const (
	// queueLength bounds the writes that wait. A caller beyond it waits in Write,
	// which is the back-pressure: memory stays bounded, nothing is dropped.
	queueLength = 1024
	// groupLimit bounds the writes of one commit, and so the wait of the first for
	// the last: at 20 µs each in SQLite some 10 ms, about what a disk's sync takes.
	groupLimit = 512
)

// Write runs fn in a transaction and returns when its effect is durable.
//
// Writes that arrive together are committed together. When fn returns an error its effects
// alone are undone and that error is returned.
// fn runs in the writer's goroutine, so it must act through tx only, must not wait,
// and must not call Write. It is called at most once.
//
// An answer means what it says: nil is durable; any error but ErrOutcomeUnknown is
// not done. When ctx ends before the writer has begun with fn, fn is never called
// and ctx's error is returned; from then on Write waits for the outcome, because
// reporting "cancelled" for something that is about to be durable would be a lie.
func (s *Store) Write(ctx context.Context, fn func(*Tx) error) error {
	err := s.enqueueRequest(ctx, &request{ctx: ctx, fn: fn})
	if errors.Is(err, ErrFull) {
		s.full.Store(true)
	}
	return err
}

// request is one write on its way through the queue. Its state decides the race
// between the writer that begins it and the caller that gives up.
//
//	waiting ──writer──▶ begun ──▶ answered
//	   └─────caller───▶ abandoned
type request struct {
	ctx   context.Context // the caller's, carried through the queue
	fn    func(*Tx) error
	raw   func(ctx context.Context, w *writer) error // instead of fn: alone, without the lease
	state atomic.Int32
	// ended is called with the answer, before the caller has it.
	ended []func(error)
	// counted is what it adds to the bytes that users have stored.
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

// sendRequest holds the gate while it waits for a place, so that Close cannot shut the
// queue between the look and the send.
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

// serveRequests is the writer's goroutine. It ends when the queue is shut and empty.
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

// gatherGroup takes what is already waiting and never waits itself: under load groups
// form while the previous commit syncs, and a lone write is not delayed. A request
// that must run alone ends the group and is returned beside it.
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

// runAlone runs a request that is not under the lease, such as the one that takes it.
func (w *writer) runAlone(ctx context.Context, r *request) {
	if !r.begin() {
		r.answer(r.ctx.Err())
		return
	}
	ctx, cancel := context.WithTimeout(ctx, aloneLimit)
	defer cancel()
	stop := context.AfterFunc(r.ctx, cancel) //nolint:contextcheck // the caller, who may end what runs for it alone
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
