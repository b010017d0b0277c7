package agentrm

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// errCrowded is the answer to a connection that may not wait for its introduction.
var errCrowded = errors.New("too many connections of agents that are not admitted yet; try again in a second")

// admissions counts the connections that have not been admitted, in all and by
// address. Those that have been are not counted: a thousand agents behind one address
// pass through here one after the other. What waits has no buffers yet, and the server
// bounds how many that are.
type admissions struct {
	most, each int
	// patience is how long a connection waits: shorter than a stranger may be silent.
	patience time.Duration

	mu      sync.Mutex // guards what follows
	all     int
	from    map[string]int
	waiting []*arriving // in the order in which they came
}

// arriving is a connection that waits.
type arriving struct {
	address string
	admit   chan struct{} // closed when it is counted in
}

func newAdmissions(l Limits) *admissions {
	return &admissions{most: l.Unwelcomed, each: l.UnwelcomedEach, patience: l.Hello / 2, from: map[string]int{}}
}

// admitConnection counts a connection in, as soon as there is room. The caller leaves when
// it is admitted or gone, and may do so twice. The error is errCrowded or ctx's.
func (u *admissions) admitConnection(ctx context.Context, address string) (leave func(), err error) {
	if w := u.enter(address); w != nil {
		limit := time.NewTimer(u.patience)
		defer limit.Stop()
		select {
		case <-w.admit:
		case <-ctx.Done():
			u.giveUp(w)
			return nil, ctx.Err()
		case <-limit.C:
			u.giveUp(w)
			return nil, errCrowded
		}
	}
	return sync.OnceFunc(func() { u.releaseConnection(address) }), nil
}

// enter counts a connection in, or returns it as one that waits.
func (u *admissions) enter(address string) *arriving {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.hasRoom(address) {
		u.countIn(address)
		return nil
	}
	w := &arriving{address: address, admit: make(chan struct{})}
	u.waiting = append(u.waiting, w)
	return w
}

func (u *admissions) hasRoom(address string) bool {
	return (u.most == 0 || u.all < u.most) && (u.each == 0 || u.from[address] < u.each)
}

func (u *admissions) countIn(address string) {
	u.all++
	u.from[address]++
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
		u.releaseConnection(w.address)
	}
}

// releaseConnection makes room for the first that waits and may come in.
func (u *admissions) releaseConnection(address string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.all--
	if u.from[address]--; u.from[address] == 0 {
		delete(u.from, address)
	}
	i := slices.IndexFunc(u.waiting, func(w *arriving) bool { return u.hasRoom(w.address) })
	if i < 0 {
		return
	}
	w := u.waiting[i]
	u.waiting = slices.Delete(u.waiting, i, i+1)
	u.countIn(w.address)
	close(w.admit)
}
