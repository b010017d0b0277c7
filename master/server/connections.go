package server

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

// connections bounds those over which no user has logged in. A connection has a place until
// a request with a good token came over it, or its agent was admitted.
type connections struct {
	places  *share.Places
	trusted []netip.Prefix
}

func newConnections(l Limits, trusted []netip.Prefix) *connections {
	return &connections{
		places:  share.NewPlaces(share.Limits{Most: l.Connections, Each: l.ConnectionsEach, Safe: handshakeTime}),
		trusted: trusted,
	}
}

// isProxy says whether an address is a trusted proxy's.
func (c *connections) isProxy(address string) bool {
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

// noteState is called when the state of a connection changes: it is active from the end of a
// request's header until the answer is written.
func noteState(conn net.Conn, state http.ConnState) {
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

// withConnection lets requests find the connection they came over.
func withConnection(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, underlying(conn))
}

// MarkKnown stops counting the connection of a request whose caller is known, given
// the request's context.
func MarkKnown(ctx context.Context) {
	if c, ok := ctx.Value(connectionKey{}).(*counted); ok {
		c.place.Leave()
	}
}
