package server

import (
	"context"
	"crypto/tls"
	"net"
	"net/netip"
	"sync"
)

// connections bounds those over which no user has logged in. A connection counts until
// a request with a good token came over it, or its agent was admitted.
type connections struct {
	most, each int // 0 for any number
	trusted    []netip.Prefix

	mu   sync.Mutex // guards what follows
	all  int
	from map[string]int
}

func newConnections(l Limits, trusted []netip.Prefix) *connections {
	return &connections{most: l.Connections, each: l.ConnectionsEach, trusted: trusted, from: map[string]int{}}
}

// acquireConnection counts a connection in. From a trusted proxy come many clients.
func (c *connections) acquireConnection(address string) (leave func(), ok bool) {
	peer, err := netip.ParseAddr(address)
	proxy := err == nil && containsAddress(c.trusted, peer)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.most > 0 && c.all >= c.most || c.each > 0 && !proxy && c.from[address] >= c.each {
		return nil, false
	}
	c.all++
	c.from[address]++
	return sync.OnceFunc(func() { c.releaseConnection(address) }), true
}

func (c *connections) releaseConnection(address string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all--
	if c.from[address]--; c.from[address] == 0 {
		delete(c.from, address)
	}
}

// bounded closes what is too much as soon as it is accepted: a refused connection costs
// no goroutine and no handshake.
type bounded struct {
	net.Listener
	*connections
}

// Accept waits for a connection that is admitted.
func (l bounded) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		host, _, err := net.SplitHostPort(conn.RemoteAddr().String())
		if err != nil {
			host = conn.RemoteAddr().String()
		}
		leave, ok := l.acquireConnection(host)
		if ok {
			return &counted{Conn: conn, known: leave}, nil
		}
		_ = conn.Close() // the client sees it, whatever becomes of the call
	}
}

// counted is a connection that counts until it is known or closed.
type counted struct {
	net.Conn
	known func()
}

// Close makes room for another one.
func (c *counted) Close() error {
	c.known()
	return c.Conn.Close()
}

type connectionKey struct{}

// withConnection lets requests find the connection they came over.
func withConnection(ctx context.Context, conn net.Conn) context.Context {
	if t, ok := conn.(*tls.Conn); ok {
		conn = t.NetConn()
	}
	return context.WithValue(ctx, connectionKey{}, conn)
}

// MarkKnown stops counting the connection of a request whose caller is known, given
// the request's context.
func MarkKnown(ctx context.Context) {
	if c, ok := ctx.Value(connectionKey{}).(*counted); ok {
		c.known()
	}
}
