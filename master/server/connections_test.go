package server

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/internal/wait"
	"github.com/det-deploy/det-deploy/master/server/guard"
	"github.com/det-deploy/det-deploy/master/share"
)

// soon is the time limit for other calls while unauthenticated clients hold the maximum. It is shorter
// than the server's timeouts for them, and long enough for a busy machine.
const soon = 5 * time.Second

// bounded returns the same server with its own limits.
func (w *world) bounded(l Limits) *Server {
	s, sh := *w.Server, *w.shared
	sh.stopping = make(chan struct{})
	s.shared, s.connections = &sh, guard.NewConnections(l.Connections, l.ConnectionsEach, nil)
	return &s
}

// listen serves on a new port until the test ends.
func (s *Server) listen(t testing.TB) (address string) {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx, l) }()
	t.Cleanup(func() {
		stop()
		t.Logf("the server has ended: %v", await(t, ended, "the end"))
	})
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return net.JoinHostPort("127.0.0.1", port)
}

// dialFrom connects from the i-th loopback address.
func dialFrom(t testing.TB, i int, to string) net.Conn {
	t.Helper()
	from := netip.AddrFrom4([4]byte{127, 0, 1, byte(i)})
	d := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(from, 0))}
	conn, err := d.DialContext(t.Context(), "tcp", to)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// say writes a request and reports whether a response arrives.
func say(conn net.Conn, request string) bool {
	_ = conn.SetDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(conn, request); err != nil {
		return false
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return false
	}
	_, err = io.Copy(io.Discard, res.Body)
	return err == nil
}

// me returns an authenticated request.
func me(token string) string {
	return fmt.Sprintf("GET /api/v1/me HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n", token)
}

const (
	health = "GET /health HTTP/1.1\r\nHost: x\r\n\r\n"
	// half is the start of a login request that is never completed.
	half = "POST /api/v1/auth/login HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"
)

// askAsOthers checks that calls from another address are answered soon.
func askAsOthers(t *testing.T, address string) {
	t.Helper()
	const body = `{"username":"admin","password":"` + password + `"}`
	login := fmt.Sprintf("POST /api/v1/auth/login HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	for name, request := range map[string]string{"health": health, "login": login} {
		began := time.Now()
		if !say(dialFrom(t, 200, address), request) {
			t.Errorf("%s: the connection is closed", name)
		}
		if took := time.Since(began); took > soon {
			t.Errorf("%s: it took %v, want at most %v", name, took, soon)
		}
	}
}

func TestConnectionsOfUsersAreNotCounted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *Config) { c.Limits.Connections, c.Limits.ConnectionsEach = 4, 2 })
	address := w.listen(t)
	for i := range 8 {
		if !say(dialFrom(t, 1, address), me(w.user)) {
			t.Fatalf("connection %d of a user is closed", i)
		}
	}
	one, two := dialFrom(t, 1, address), dialFrom(t, 1, address)
	for i, conn := range []net.Conn{one, two} {
		if !say(conn, me("unknown")) {
			t.Fatalf("stranger %d is turned away", i)
		}
	}
	if say(dialFrom(t, 1, address), me("unknown")) {
		t.Error("a third unauthenticated connection was accepted")
	}
	_ = one.Close()
	for end := time.Now().Add(patience); !say(dialFrom(t, 1, address), me("unknown")); {
		if time.Now().After(end) {
			t.Fatal("one that has left still counts")
		}
	}
}

// strangers returns methods to hold a connection without logging in.
func strangers() map[string]func(net.Conn) {
	write := func(text string) func(net.Conn) {
		return func(conn net.Conn) { _, _ = io.WriteString(conn, text) } // the connection may be closed
	}
	return map[string]func(net.Conn){
		"silent":                  func(net.Conn) {},
		"headers that never end":  write("GET / HTTP/1.1\r\nHost: x\r\n"),
		"idle after a request":    write(health),
		"logins that never end":   write(half),
		"a body that is not read": write("GET /health HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n"),
	}
}

// If unauthenticated clients on 1 to 64 addresses hold twice the permitted connections, calls from other
// addresses are still answered immediately.
func TestUnauthenticatedConnectionsDoNotBlockOthers(t *testing.T) {
	t.Parallel()
	const most = 128
	w := newWorld(t)
	for name, hold := range strangers() {
		for _, addresses := range []int{1, 2, 3, 8, 20, 64} {
			t.Run(fmt.Sprintf("%s from %d", name, addresses), func(t *testing.T) {
				s := w.bounded(Limits{Connections: most, ConnectionsEach: most / 2})
				address := s.listen(t)
				for i := range max(2*most, 3*addresses) {
					hold(dialFrom(t, 1+i%addresses, address))
				}
				askAsOthers(t, address)
				if got := s.connections.Taken(); got > most {
					t.Errorf("%d connections are open, want at most %d", got, most)
				}
			})
		}
	}
}

// Bodies of logins have separate places, and addresses that take all of them lose some.
func TestIncompleteLoginsDoNotBlockOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const most, each = 64, 8
	w.room.Strangers = share.NewPlaces(share.Limits{Most: most, Each: each})
	address := w.listen(t)
	begin := func(i int) net.Conn {
		conn := dialFrom(t, 1+i/each, address)
		_, _ = io.WriteString(conn, half) // the connection may be closed
		return conn
	}
	answers := make(chan []byte, each)
	for i := range each {
		conn := begin(i)
		go func() {
			answer, _ := io.ReadAll(conn) // the connection is closed after the response
			answers <- answer
		}()
	}
	for end := time.Now().Add(patience); w.room.Strangers.Taken() < each; _ = wait.For(t.Context(), time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("only %d logins are under way", w.room.Strangers.Taken())
		}
	}
	for i := range 20 * each {
		begin(each + i)
	}
	askAsOthers(t, address)
	answer := await(t, answers, "the answer to a login of the first address")
	if !bytes.HasPrefix(answer, []byte("HTTP/1.1 503 ")) || !bytes.Contains(answer, []byte("Retry-After: ")) {
		t.Errorf("got %q, want 503 with Retry-After", answer)
	}
	if got := w.room.Strangers.Taken(); got > most {
		t.Errorf("%d logins are under way, want at most %d", got, most)
	}
	if !say(dialFrom(t, 1, address), me(w.user)) {
		t.Error("a user is turned away")
	}
}
