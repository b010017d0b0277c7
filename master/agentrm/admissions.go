package agentrm

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/det-deploy/det-deploy/master/agentrm/link"
	"github.com/det-deploy/det-deploy/master/share"
)

// errCrowded is returned for a connection that could not get a place in time, and is the cause of
// closing one that lost its place to another address.
var errCrowded = errors.New("too many agents are waiting for admission; try again in a second")

// admissions limits the number of connections that are not admitted yet, in total and by address.
// Admitted connections do not count, so that a thousand agents behind one address pass one after the
// other. Waiting connections have no buffers yet, and the server bounds their number.
type admissions struct {
	places *share.Places
	// patience is the time that a connection waits for a place: shorter than the time limit for the
	// hello.
	patience time.Duration

	mu      sync.Mutex  // guards waiting
	waiting []*arriving // in order of arrival
}

// arriving is a connection that has a place or waits for one.
type arriving struct {
	group share.Group
	end   func() // called when the place is lost
	place *share.Place
	admit chan struct{} // closed when there is a place
}

func newAdmissions(l link.Limits) *admissions {
	return &admissions{places: share.NewPlaces(share.Limits{Most: l.Unwelcomed, Each: l.UnwelcomedEach}), patience: l.Hello / 2}
}

// admitConnection waits for a place for a connection. The caller calls leave when the agent is admitted
// or the connection is gone; leave may be called twice. The function end is called when the place is
// lost to a connection of another address. It returns errCrowded if there is no place in time, or ctx's
// error.
func (u *admissions) admitConnection(ctx context.Context, address string, end func()) (leave func(), err error) {
	w := &arriving{group: share.GroupOf(address), end: end, admit: make(chan struct{})}
	u.enter(w)
	if err := u.await(ctx, w); err != nil {
		u.giveUp(w)
		return nil, err
	}
	return sync.OnceFunc(func() { u.releaseConnection(w) }), nil
}

// await waits until a connection has a place. It returns errCrowded after u.patience.
func (u *admissions) await(ctx context.Context, w *arriving) error {
	select {
	case <-w.admit:
		return nil
	default:
	}
	limit := time.NewTimer(u.patience)
	defer limit.Stop()
	select {
	case <-w.admit:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-limit.C:
		return errCrowded
	}
}

// enter gives a connection a place, or appends it to the waiting ones.
func (u *admissions) enter(w *arriving) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if place, ok := u.places.Take(w.group, w.end); ok {
		w.begin(place)
		return
	}
	u.waiting = append(u.waiting, w)
}

// begin ends the wait for a place.
func (w *arriving) begin(place *share.Place) {
	w.place = place
	close(w.admit)
}

// giveUp removes a connection that stopped waiting, even if it has got a place meanwhile.
func (u *admissions) giveUp(w *arriving) {
	u.mu.Lock()
	i := slices.Index(u.waiting, w)
	if i >= 0 {
		u.waiting = slices.Delete(u.waiting, i, i+1)
	}
	u.mu.Unlock()
	if i < 0 {
		u.releaseConnection(w)
	}
}

// releaseConnection frees a place and gives it to the first waiting connection that may have it.
func (u *admissions) releaseConnection(w *arriving) {
	u.mu.Lock()
	defer u.mu.Unlock()
	w.place.Leave()
	for i, next := range u.waiting {
		if place, ok := u.places.TakeFree(next.group, next.end); ok {
			next.begin(place)
			u.waiting = slices.Delete(u.waiting, i, i+1)
			return
		}
	}
}
