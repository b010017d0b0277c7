// Package guard is what stands before the calls of a server, whatever they are: which connections have a
// place, what bodies and streams may take, whose address counts, which sites may call, whether the master is
// ready, and how calls are counted.
package guard

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/det-deploy/det-deploy/master/share"
)

// handshakeTime is how long a client is safe from others of its address before the first request:
// a thousand TLS handshakes that begin together take a second or two.
const handshakeTime = 2 * time.Second

// Connections bounds those over which no user has logged in. A connection has a place until
// a request with a good token came over it, or its agent was admitted.
type Connections struct {
	places  *share.Places
	trusted []netip.Prefix
}

// NewConnections returns places for most connections, of which each address has a share; 0 is no limit.
// trusted are the networks of proxies, each of which has many clients.
func NewConnections(most, each int, trusted []netip.Prefix) *Connections {
	return &Connections{
		places:  share.NewPlaces(share.Limits{Most: most, Each: each, Safe: handshakeTime}),
		trusted: trusted,
	}
}

// Taken is how many places are taken.
func (c *Connections) Taken() int { return c.places.Taken() }

// Bound returns l without the connections that have no place.
func (c *Connections) Bound(l net.Listener) net.Listener { return &bounded{l, c} }

// bounded accepts connections for which there is a place, and closes the others at once:
// they cost neither a goroutine nor a handshake.
type bounded struct {
	net.Listener
	*Connections
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
func (c *Connections) enter(conn net.Conn) (*counted, bool) {
	place, ok := c.places.Take(c.groupOf(conn.RemoteAddr()), func() { _ = conn.Close() })
	if !ok {
		return nil, false
	}
	return &counted{Conn: conn, place: place}, true
}

// groupOf returns whose share a connection counts against. From a trusted proxy come many
// clients.
func (c *Connections) groupOf(a net.Addr) share.Group {
	host, _, err := net.SplitHostPort(a.String())
	if err != nil {
		host = a.String()
	}
	g := share.GroupOf(host)
	g.Spared = c.isProxy(host)
	return g
}

// isProxy says whether an address is a trusted proxy's.
func (c *Connections) isProxy(address string) bool {
	peer, err := netip.ParseAddr(address)
	return err == nil && containsAddress(c.trusted, peer)
}

// counted is a connection that has a place until its caller is known or it is closed.
type counted struct {
	net.Conn
	place *share.Place
}

// Close makes room for another one.
func (c *counted) Close() error {
	c.place.Leave()
	return c.Conn.Close()
}

// NoteState is called when the state of a connection changes: it is active from the end of a
// request's header until the answer is written.
func NoteState(conn net.Conn, state http.ConnState) {
	c, ok := underlying(conn).(*counted)
	if !ok {
		return
	}
	switch state {
	case http.StateActive:
		c.place.SetBusy()
	case http.StateIdle:
		c.place.SetWaiting()
	case http.StateNew, http.StateHijacked, http.StateClosed:
	}
}

func underlying(conn net.Conn) net.Conn {
	if t, ok := conn.(*tls.Conn); ok {
		return t.NetConn()
	}
	return conn
}

type connectionKey struct{}

// WithConnection lets requests find the connection they came over.
func WithConnection(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, underlying(conn))
}

// MarkKnown stops counting the connection of a request whose caller is known, given
// the request's context.
func MarkKnown(ctx context.Context) {
	if c, ok := ctx.Value(connectionKey{}).(*counted); ok {
		c.place.Leave()
	}
}
