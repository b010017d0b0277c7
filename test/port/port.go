// Package port finds a port for a server in another process that a test must know before the server
// starts. A server in the test process can listen on port 0 instead.
package port

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"testing"
)

// The ports are below Linux's ephemeral range, 32768 and above, which the kernel assigns to
// listeners on port 0 and to outgoing connections: one of those may be taken between Free and the
// server's start.
const first, last = 10_000, 32_000

// Free returns an unused port of 127.0.0.1. It is reserved until the test ends: no other test gets
// it, even while no server listens on it.
func Free(t testing.TB) int {
	t.Helper()
	port, err := Find(t)
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// Find is like Free but returns an error instead of failing the test.
func Find(t testing.TB) (int, error) {
	var err error
	for range 100 {
		port := first + rand.IntN(last-first)
		var l net.Listener
		if l, err = new(net.ListenConfig).Listen(t.Context(), "tcp", address(port)); err != nil {
			continue
		}
		if err = claim(t, port); err == nil {
			return port, l.Close()
		}
		_ = l.Close() // it belongs to another test
	}
	return 0, fmt.Errorf("find a free port between %d and %d: %w", first, last, err)
}

// claim reserves the port among the tests of all processes by binding it for UDP, which no server
// of a test uses.
func claim(t testing.TB, port int) error {
	c, err := new(net.ListenConfig).ListenPacket(t.Context(), "udp", address(port))
	if err == nil {
		t.Cleanup(func() { _ = c.Close() }) // nothing was written
	}
	return err
}

func address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
