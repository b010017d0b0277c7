package server

import (
	"net"

	"github.com/det-deploy/det-deploy/master/share"
)

// bounded accepts connections for which there is a place, and closes the others at once:
// they cost neither a goroutine nor a handshake.
type bounded struct {
	net.Listener
	*connections
}

// Accept waits for a connection that has a place.
func (b *bounded) Accept() (net.Conn, error) {
	for {
		conn, err := b.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if c, ok := b.enter(conn); ok {
			return c, nil
		}
		_ = conn.Close() // the client sees it, whatever becomes of the call
	}
}

// enter takes a place for a connection.
func (c *connections) enter(conn net.Conn) (*counted, bool) {
	place, ok := c.places.Take(c.groupOf(conn.RemoteAddr()), func() { _ = conn.Close() })
	if !ok {
		return nil, false
	}
	return &counted{Conn: conn, place: place}, true
}

// groupOf returns whose share a connection counts against. From a trusted proxy come many
// clients.
func (c *connections) groupOf(a net.Addr) share.Group {
	host, _, err := net.SplitHostPort(a.String())
	if err != nil {
		host = a.String()
	}
	g := share.GroupOf(host)
	g.Spared = c.isProxy(host)
	return g
}
