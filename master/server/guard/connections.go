// Package guard protects a server independent of its calls: it limits connections, bodies and streams,
// determines client addresses, checks origins, reports readiness, and counts requests.
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

// handshakeTime is the time for which a new connection is not evicted in favor of others from its address.
// A thousand concurrent TLS handshakes take a second or two.
const handshakeTime = 2 * time.Second

// Connections limits the number of unauthenticated connections. A connection counts until it carries a
// request with a valid token or its agent is admitted.
type Connections struct {
	places  *share.Places
	trusted []netip.Prefix
}

// NewConnections limits the number of connections to most, and those of one address to each; 0 is
// unlimited. trusted are the networks of proxies, which serve many clients.
func NewConnections(most, each int, trusted []netip.Prefix) *Connections {
	return &Connections{
		places:  share.NewPlaces(share.Limits{Most: most, Each: each, Safe: handshakeTime}),
		trusted: trusted,
	}
}

// Taken returns the number of counted connections.
func (c *Connections) Taken() int { return c.places.Taken() }

// Bound returns a listener that closes connections beyond the limits.
func (c *Connections) Bound(l net.Listener) net.Listener { return &bounded{l, c} }

// bounded closes connections beyond the limits immediately, before they cost a goroutine or a TLS
// handshake.
type bounded struct {
	net.Listener
	*Connections
}

// Accept returns the next connection within the limits.
func (b *bounded) Accept() (net.Conn, error) {
	for {
		conn, err := b.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if c, ok := b.enter(conn); ok {
			return c, nil
		}
		_ = conn.Close() // the client detects it
	}
}

// enter counts a connection. It returns false if the limit is reached.
func (c *Connections) enter(conn net.Conn) (*counted, bool) {
	place, ok := c.places.Take(c.groupOf(conn.RemoteAddr()), func() { _ = conn.Close() })
	if !ok {
		return nil, false
	}
	return &counted{Conn: conn, place: place}, true
}

// groupOf returns the group that a connection counts against. Trusted proxies are exempt because they
// serve many clients.
func (c *Connections) groupOf(a net.Addr) share.Group {
	host, _, err := net.SplitHostPort(a.String())
	if err != nil {
		host = a.String()
	}
	g := share.GroupOf(host)
	g.Spared = c.isProxy(host)
	return g
}

// isProxy reports whether an address belongs to a trusted proxy.
func (c *Connections) isProxy(address string) bool {
	peer, err := netip.ParseAddr(address)
	return err == nil && containsAddress(c.trusted, peer)
}

// counted is a connection that counts until its caller is authenticated or it is closed.
type counted struct {
	net.Conn
	place *share.Place
}

// Close stops counting the connection and closes it.
func (c *counted) Close() error {
	c.place.Leave()
	return c.Conn.Close()
}

// NoteState records a change of a connection's state. A connection is active from the end of a request's
// header until the response is written.
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

// WithConnection adds the connection to the context of its requests.
func WithConnection(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, underlying(conn))
}

// MarkKnown stops counting the connection of an authenticated request, given the request's context.
func MarkKnown(ctx context.Context) {
	if c, ok := ctx.Value(connectionKey{}).(*counted); ok {
		c.place.Leave()
	}
}
