package auth

import (
	"context"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/det-deploy/det-deploy/master/api/status"
	"github.com/det-deploy/det-deploy/master/share"
)

const (
	// wrongAtOnce is the number of wrong passwords in a row, for one user from one address, that a
	// person may enter. Afterwards, one per wrongEvery is allowed.
	wrongAtOnce = 10
	wrongEvery  = 6 * time.Second
	// widelyAtOnce and widelyEvery are the same limits for one user from all addresses, and for one
	// address and all users, because an office with one address has many users.
	widelyAtOnce = 100
	widelyEvery  = time.Second
	// doubts is the number of wrong passwords that a user may enter in a row while other addresses
	// guess at the user or the address guesses at others.
	doubts = 2
	// hashesAtOnce limits the memory of logins, which need 7 MiB each.
	hashesAtOnce = 2
	// hashesWaiting limits how long a login can wait: 256 of some 25 ms each, two at a time.
	// hashesEach is the maximum per address.
	hashesWaiting = 256
	hashesEach    = 16
	// remembered limits the number of counters, of some 300 bytes each.
	remembered = 10_000
)

// gate limits concurrent logins and rejects password guessing.
type gate struct {
	// hashes are the places of logins that wait or compute.
	hashes *share.Places

	mu        sync.Mutex // guards the following fields
	computing int
	queue     []*turn
	wrong     map[visitor]*rate.Limiter
}

// turn is a waiting login.
type turn struct {
	place *share.Place
	begin chan struct{} // closed when it may compute
}

// visitor is a pair of user and address. An empty address matches all addresses of the user, and an
// empty user all users of the address.
type visitor struct{ user, addr string }

func newGate() *gate {
	return &gate{
		hashes: share.NewPlaces(share.Limits{Most: hashesWaiting, Each: hashesEach}), wrong: map[visitor]*rate.Limiter{},
	}
}

func errCrowded() error {
	return status.New(status.ResourceExhausted, "too many logins at once; try again in a few seconds")
}

// acquireHash waits until the caller may compute one hash. The caller then calls leave.
func (g *gate) acquireHash(ctx context.Context, from share.Group) (leave func(), err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	place, ok := g.hashes.Take(from, func() { cancel(errCrowded()) })
	if !ok {
		return nil, errCrowded()
	}
	t := g.enter(place)
	select {
	case <-t.begin:
		place.SetBusy()
		return func() { g.leave(place) }, nil
	case <-ctx.Done():
		g.giveUp(t)
		return nil, context.Cause(ctx)
	}
}

// leave ends the turn of a login that has computed.
func (g *gate) leave(place *share.Place) {
	place.Leave()
	g.beginNext()
}

// enter starts a turn, or queues it.
func (g *gate) enter(place *share.Place) *turn {
	g.mu.Lock()
	defer g.mu.Unlock()
	t := &turn{place: place, begin: make(chan struct{})}
	if g.computing < hashesAtOnce {
		g.computing++
		close(t.begin)
		return t
	}
	g.queue = append(g.queue, t)
	return t
}

// beginNext ends one turn and starts the next: the first of the group with the fewest active
// logins, so that a user does not wait for many logins from one address.
func (g *gate) beginNext() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.queue) == 0 {
		g.computing--
		return
	}
	var places []*share.Place
	for _, t := range g.queue {
		places = append(places, t.place)
	}
	i := g.hashes.Smallest(places)
	close(g.queue[i].begin)
	g.queue = slices.Delete(g.queue, i, i+1)
}

// giveUp removes a turn, even if it has started meanwhile.
func (g *gate) giveUp(t *turn) {
	t.place.Leave()
	g.mu.Lock()
	i := slices.Index(g.queue, t)
	if i >= 0 {
		g.queue = slices.Delete(g.queue, i, i+1)
	}
	g.mu.Unlock()
	if i < 0 {
		g.beginNext()
	}
}

// isBlocked reports whether v has entered too many wrong passwords recently. A visitor without
// failures is not blocked while others guess at the same user, so that the right password is
// accepted.
func (g *gate) isBlocked(v visitor, now time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	own := wrongAtOnce - g.triesLeft(v, wrongAtOnce, now)
	if own > wrongAtOnce-1 {
		return true
	}
	guessed := g.triesLeft(visitor{user: v.user}, widelyAtOnce, now) < 1 || g.triesLeft(visitor{addr: v.addr}, widelyAtOnce, now) < 1
	return guessed && own > doubts-1
}

// triesLeft returns the number of wrong passwords that v may still enter.
func (g *gate) triesLeft(v visitor, burst int, now time.Time) float64 {
	if l, found := g.wrong[v]; found {
		return l.TokensAt(now)
	}
	return float64(burst)
}

// countFailure counts a wrong password.
func (g *gate) countFailure(v visitor, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.count(v, wrongEvery, wrongAtOnce, now)
	g.count(visitor{user: v.user}, widelyEvery, widelyAtOnce, now)
	g.count(visitor{addr: v.addr}, widelyEvery, widelyAtOnce, now)
}

func (g *gate) count(v visitor, every time.Duration, burst int, now time.Time) {
	l, found := g.wrong[v]
	if !found {
		if len(g.wrong) >= remembered {
			g.forget(now)
		}
		l = rate.NewLimiter(rate.Every(every), burst)
		g.wrong[v] = l
	}
	l.AllowN(now, 1)
}

// forget deletes counters that are full again and, if that is not enough, a tenth of the others.
// Counting does not stop an attacker with that many addresses.
func (g *gate) forget(now time.Time) {
	for v, l := range g.wrong {
		if l.TokensAt(now) >= float64(l.Burst()) {
			delete(g.wrong, v)
		}
	}
	for v := range g.wrong { // in random order
		if len(g.wrong) <= remembered*9/10 {
			return
		}
		delete(g.wrong, v)
	}
}

// resetFailures resets v's counters after a correct password.
func (g *gate) resetFailures(v visitor) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.wrong, v)
}
