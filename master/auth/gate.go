package auth

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/det-deploy/det-deploy/master/api/status"
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
	// time. hashesEach is how many of them one address may have, so that it takes
	// many to close the door to others.
	hashesWaiting = 256
	hashesEach    = 16
	// remembered bounds what is counted, at some 300 bytes each.
	remembered = 10_000
)

// gate lets logins through one after the other and guessers not at all.
type gate struct {
	places chan struct{}
	// calm is called when a hash was computed and no other login waits; it may be nil.
	calm func()

	mu      sync.Mutex // guards what follows
	waiting int
	from    map[string]int // places taken or waited for, by address
	wrong   map[visitor]*rate.Limiter
}

// visitor is who tries to log in as whom. Without an address it is everybody who
// tries to be the user, and without a user everything that the address tries.
type visitor struct{ user, addr string }

func newGate(calm func()) *gate {
	return &gate{calm: calm, places: make(chan struct{}, hashesAtOnce), from: map[string]int{}, wrong: map[visitor]*rate.Limiter{}}
}

// acquireHash waits for a place to compute one hash in. The caller leaves when done.
func (g *gate) acquireHash(ctx context.Context, addr string) (leave func(), err error) {
	if !g.wait(addr) {
		return nil, status.New(status.ResourceExhausted, "too many logins at once; try again in a few seconds")
	}
	select {
	case g.places <- struct{}{}:
		return func() {
			<-g.places
			if g.done(addr) == 0 {
				g.noteCalm()
			}
		}, nil
	case <-ctx.Done():
		g.done(addr)
		return nil, ctx.Err()
	}
}

// noteCalm says that a hash was computed and no other login waits.
func (g *gate) noteCalm() {
	if g.calm != nil {
		g.calm()
	}
}

func (g *gate) wait(addr string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.waiting >= hashesWaiting || g.from[addr] >= hashesEach {
		return false
	}
	g.waiting++
	g.from[addr]++
	return true
}

// done returns how many places are still taken or waited for.
func (g *gate) done(addr string) (waiting int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting--
	if g.from[addr]--; g.from[addr] == 0 {
		delete(g.from, addr)
	}
	return g.waiting
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
