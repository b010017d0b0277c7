// Package port finds a port for a server that is another process's, and that a
// test has to know beforehand. A server in the test itself listens on port 0.
package port

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"testing"
)

// The ports lie below those that Linux gives away by itself, to who listens on
// port 0 and to each connection that goes out: 32768 and above. One of those may be
// taken in the moment between Free and the server's start.
const first, last = 10_000, 32_000

// Free returns a port of 127.0.0.1 that nobody listens on. Until the test ends no other
// test gets it, also while no server is there.
func Free(t testing.TB) int {
	t.Helper()
	port, err := Find(t)
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// Find is Free for who cannot end the test where it stands.
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
		_ = l.Close() // another test's
	}
	return 0, fmt.Errorf("find a free port between %d and %d: %w", first, last, err)
}

// claim takes the port for a test among those of all processes: by UDP, of which the
// servers of tests speak none.
func claim(t testing.TB, port int) error {
	c, err := new(net.ListenConfig).ListenPacket(t.Context(), "udp", address(port))
	if err == nil {
		t.Cleanup(func() { _ = c.Close() }) // nothing was written
	}
	return err
}

func address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
