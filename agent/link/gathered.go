package link

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
)

// gatherMost is how many bytes wait for those that come after them at most.
const gatherMost = 64 << 10

// gathered is a connection on which several messages may be one write: most of what a small one
// costs, on both sides, is the call that sends it and the wake-up of who reads it.
type gathered struct {
	net.Conn

	// mu guards what follows, and keeps writes in their order.
	mu   sync.Mutex
	held bool
	wait []byte
}

// Write sends p, or has it wait for release. That this fails is seen by a write to come.
func (g *gathered) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.held && len(g.wait)+len(p) <= gatherMost {
		g.wait = append(g.wait, p...)
		return len(p), nil
	}
	if err := g.flush(); err != nil {
		return 0, err
	}
	return g.Conn.Write(p)
}

// hold has what is written wait for release.
func (g *gathered) hold() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.held = true
}

// release sends what has waited.
func (g *gathered) release() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.held = false
	return g.flush()
}

// flush sends what waits; the caller holds mu.
func (g *gathered) flush() error {
	if len(g.wait) == 0 {
		return nil
	}
	_, err := g.Conn.Write(g.wait)
	g.wait = g.wait[:0]
	return err
}

// gatherOn has the connections of t be gathered ones; last is the one made last.
func gatherOn(t *http.Transport) (last func() *gathered) {
	var mu sync.Mutex
	var made *gathered
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		mu.Lock()
		defer mu.Unlock()
		made = &gathered{Conn: conn}
		return made, nil
	}
	return func() *gathered {
		mu.Lock()
		defer mu.Unlock()
		return made
	}
}

// Together has what send sends go out by as few writes as can be, when it returns or before. What
// another goroutine sends meanwhile goes with it.
func (c *Conn) Together(send func() error) error {
	c.out.hold()
	return errors.Join(send(), c.out.release())
}
