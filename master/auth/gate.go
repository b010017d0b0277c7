package auth

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/det-deploy/det-deploy/master/api/status"
)

const (
	// wrongAtOnce wrong passwords in a row are a person; more than one each
	// wrongEvery after them is a program. Per user and address, so that nobody
	// can lock another out.
	wrongAtOnce = 10
	wrongEvery  = 6 * time.Second
	// hashesAtOnce bounds the memory that logins take, at 19 MiB each.
	hashesAtOnce = 2
	// hashesWaiting bounds how long a login can wait: 64 at some 25 ms, two at a time.
	hashesWaiting = 64
	// remembered bounds the addresses that are counted.
	remembered = 10_000
)

// gate lets logins through one after the other and guessers not at all.
type gate struct {
	places  chan struct{}
	waiting chan struct{}

	mu    sync.Mutex // guards wrong
	wrong map[visitor]*rate.Limiter
}

// visitor is who tries to log in as whom.
type visitor struct{ user, addr string }

func newGate() *gate {
	return &gate{
		places:  make(chan struct{}, hashesAtOnce),
		waiting: make(chan struct{}, hashesWaiting),
		wrong:   map[visitor]*rate.Limiter{},
	}
}

// enter waits for a place to compute one hash in. The caller leaves when done.
func (g *gate) enter(ctx context.Context) (leave func(), err error) {
	select {
	case g.waiting <- struct{}{}:
		defer func() { <-g.waiting }()
	default:
		return nil, status.New(status.ResourceExhausted, "too many logins at once; try again in a few seconds")
	}
	select {
	case g.places <- struct{}{}:
		return func() { <-g.places }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// blocked says whether v has been wrong too often of late.
func (g *gate) blocked(v visitor, now time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	l, found := g.wrong[v]
	return found && l.TokensAt(now) < 1
}

// failed counts one wrong password.
func (g *gate) failed(v visitor, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	l, found := g.wrong[v]
	if !found {
		if len(g.wrong) >= remembered {
			g.forget(now)
		}
		l = rate.NewLimiter(rate.Every(wrongEvery), wrongAtOnce)
		g.wrong[v] = l
	}
	l.AllowN(now, 1)
}

// forget drops those who may try at will again, and everybody when that makes no
// room: an attacker with that many addresses is not stopped by counting them.
func (g *gate) forget(now time.Time) {
	for v, l := range g.wrong {
		if l.TokensAt(now) >= wrongAtOnce {
			delete(g.wrong, v)
		}
	}
	if len(g.wrong) >= remembered {
		clear(g.wrong)
	}
}

// succeeded forgives: whoever knows the password need not guess it.
func (g *gate) succeeded(v visitor) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.wrong, v)
}
