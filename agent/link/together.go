package link

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"

	"github.com/det-deploy/det-deploy/gather"
)

// gatherOn has messages gather on the connections of t; last is the one made last.
func gatherOn(t *http.Transport) (last func() *gather.Conn) {
	var mu sync.Mutex
	var made *gather.Conn
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		mu.Lock()
		defer mu.Unlock()
		made = &gather.Conn{Conn: conn}
		return made, nil
	}
	return func() *gather.Conn {
		mu.Lock()
		defer mu.Unlock()
		return made
	}
}

// Together has what send sends go out by as few writes as can be, when it returns or before. What
// another goroutine sends meanwhile goes with it. A connection that takes nothing for as long as a
// ping may take counts as lost.
func (c *Conn) Together(send func() error) error {
	c.out.Hold()
	return errors.Join(send(), c.out.Release(pingTimeout))
}
