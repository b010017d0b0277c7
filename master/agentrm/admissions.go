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

// errCrowded is the answer to a connection that may not wait for its introduction, and the end of
// one that lost its place to another address.
var errCrowded = errors.New("too many connections of agents that are not admitted yet; try again in a second")

// admissions counts the connections that have not been admitted, in all and by
// address. Those that have been are not counted: a thousand agents behind one address
// pass through here one after the other. What waits has no buffers yet, and the server
// bounds how many that are.
type admissions struct {
	places *share.Places
	// patience is how long a connection waits: shorter than a stranger may be silent.
	patience time.Duration

	mu      sync.Mutex  // guards what follows
	waiting []*arriving // in the order in which they came
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

// admitConnection counts a connection in, as soon as there is room. The caller leaves when
// it is admitted or gone, and may do so twice. The function end is called when the place is
// lost to a connection of another address. The error is errCrowded or ctx's.
func (u *admissions) admitConnection(ctx context.Context, address string, end func()) (leave func(), err error) {
	w := &arriving{group: share.GroupOf(address), end: end, admit: make(chan struct{})}
	u.enter(w)
	if err := u.await(ctx, w); err != nil {
		u.giveUp(w)
		return nil, err
	}
	return sync.OnceFunc(func() { u.releaseConnection(w) }), nil
}

// await waits until a connection has a place.
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

// enter counts a connection in, or has it wait.
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

// giveUp removes a connection that has waited, also when it was counted in meanwhile.
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

// releaseConnection makes room for the first that waits and may come in.
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
