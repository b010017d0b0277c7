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
	// wrongAtOnce wrong passwords in a row for one user from one address are a
	// person; more than one each wrongEvery after them is a program.
	wrongAtOnce = 10
	wrongEvery  = 6 * time.Second
	// widelyAtOnce and widelyEvery are the same for one user from everywhere, and for
	// one address about everybody: an office behind one address has many users.
	widelyAtOnce = 100
	widelyEvery  = time.Second
	// doubts is how many wrong passwords in a row are a person's while the user is
	// guessed at from elsewhere, or the address guesses at others.
	doubts = 2
	// hashesAtOnce bounds the memory that logins take, at 7 MiB each.
	hashesAtOnce = 2
	// hashesWaiting bounds how long a login can wait: 256 at some 25 ms, two at a
	// time. hashesEach is how many of them one address may have.
	hashesWaiting = 256
	hashesEach    = 16
	// remembered bounds what is counted, at some 300 bytes each.
	remembered = 10_000
)

// gate lets logins through one after the other and guessers not at all.
type gate struct {
	// hashes are the places of logins that wait for their turn or compute.
	hashes *share.Places

	mu        sync.Mutex // guards what follows
	computing int
	queue     []*turn
	wrong     map[visitor]*rate.Limiter
}

// turn is a login that waits.
type turn struct {
	place *share.Place
	begin chan struct{} // closed when it may compute
}

// visitor is who tries to log in as whom. Without an address it is everybody who
// tries to be the user, and without a user everything that the address tries.
type visitor struct{ user, addr string }

func newGate() *gate {
	return &gate{
		hashes: share.NewPlaces(share.Limits{Most: hashesWaiting, Each: hashesEach}), wrong: map[visitor]*rate.Limiter{},
	}
}

func errCrowded() error {
	return status.New(status.ResourceExhausted, "too many logins at once; try again in a few seconds")
}

// acquireHash waits for the turn to compute one hash. The caller leaves when done.
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

// leave ends the turn of one that has computed.
func (g *gate) leave(place *share.Place) {
	place.Leave()
	g.beginNext()
}

// enter begins a turn, or has it wait.
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

// beginNext ends one turn and begins the next: of those who wait, the first of the group that
// has the fewest logins under way, so that a user does not wait behind a crowd of one address.
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

// giveUp removes a turn, also when it has begun meanwhile.
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

// isBlocked says whether v has been wrong too often of late. Who has not been wrong is
// heard even while others guess at the same user: a right password passes.
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

// triesLeft is how many more wrong passwords v has.
func (g *gate) triesLeft(v visitor, burst int, now time.Time) float64 {
	if l, found := g.wrong[v]; found {
		return l.TokensAt(now)
	}
	return float64(burst)
}

// countFailure counts one wrong password.
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

// forgetMachine drops those who may try at will again, and a tenth of the others when that
// makes no room: an attacker with that many addresses is not stopped by counting them.
func (g *gate) forget(now time.Time) {
	for v, l := range g.wrong {
		if l.TokensAt(now) >= float64(l.Burst()) {
			delete(g.wrong, v)
		}
	}
	for v := range g.wrong { // in no order
		if len(g.wrong) <= remembered*9/10 {
			return
		}
		delete(g.wrong, v)
	}
}

// resetFailures forgives: a visitor who knows the password need not guess it.
func (g *gate) resetFailures(v visitor) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.wrong, v)
}
