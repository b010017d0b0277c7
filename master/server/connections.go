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
	// waiting are those for which there is no room yet.
	waiting waitingConnections
}

func newConnections(l Limits, trusted []netip.Prefix) *connections {
	return &connections{
		most: l.Connections, each: l.ConnectionsEach, trusted: trusted, from: map[string]int{},
		waiting: waitingConnections{from: map[string][]*waitingConnection{}},
	}
}

// acquireConnection counts a connection in.
func (c *connections) acquireConnection(address string) (leave func(), ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.hasRoom(address) {
		return nil, false
	}
	return c.countIn(address), true
}

// hasRoom says whether one more may be counted in. From a trusted proxy come many clients.
// The caller holds mu.
func (c *connections) hasRoom(address string) bool {
	if c.most > 0 && c.all >= c.most {
		return false
	}
	return c.each == 0 || c.from[address] < c.each || c.isProxy(address)
}

// isProxy says whether an address is a trusted proxy's.
func (c *connections) isProxy(address string) bool {
	peer, err := netip.ParseAddr(address)
	return err == nil && containsAddress(c.trusted, peer)
}

// countIn counts one more. The caller holds mu.
func (c *connections) countIn(address string) (leave func()) {
	c.all++
	c.from[address]++
	return sync.OnceFunc(func() { c.releaseConnection(address) })
}

// releaseConnection makes room for one that waits.
func (c *connections) releaseConnection(address string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all--
	if c.from[address]--; c.from[address] == 0 {
		delete(c.from, address)
	}
	if w := c.waiting.take(c.hasRoom); w != nil {
		w.admit(c.countIn(w.address))
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
