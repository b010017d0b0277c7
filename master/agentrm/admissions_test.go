package agentrm

import (
	"context"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/det-deploy/det-deploy/internal/wait"
	"github.com/det-deploy/det-deploy/master/agentrm/link"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
)

func TestUnadmittedConnectionsAreLimitedPerAddress(t *testing.T) {
	t.Parallel()
	c := newCluster(t, func(c *Config) {
		c.Limits = link.DefaultLimits()
		c.Limits.UnwelcomedEach, c.Limits.Hello = 3, 6*time.Second
	})
	for i := range 5 {
		c.join(fmt.Sprintf("agent-%d", i), 1) // admitted ones are not counted
	}
	for range 3 {
		c.dial()
	}
	_, res, err := websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(c.server.URL, "http"), nil)
	if err == nil || res == nil || res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "" {
		t.Fatalf("got %v, %v, want 503 with Retry-After", res, err)
	}
	_ = res.Body.Close()
}

func TestUnadmittedConnectionsAreLimitedInTotal(t *testing.T) {
	t.Parallel()
	u := newAdmissions(link.Limits{Unwelcomed: 4, UnwelcomedEach: 2})
	var lost []string
	enter := func(address string, want bool) func() {
		t.Helper()
		leave, err := u.admitConnection(t.Context(), address, func() { lost = append(lost, address) }) // without patience
		if (err == nil) != want {
			t.Errorf("from %s: got %v, want it admitted: %v", address, err, want)
		}
		return leave
	}
	leave := enter("a", true)
	enter("a", true)
	enter("a", false)
	enter("b", true)
	enter("c", true)
	enter("d", true)
	leave() // it was lost before
	leave()
	enter("a", false)
	if got := u.places.Taken(); got != 4 || !slices.Equal(lost, []string{"a"}) || len(u.waiting) != 0 {
		t.Errorf("got %d in all, %v lost, %d that wait", got, lost, len(u.waiting))
	}
}

// Strangers who open as many connections as permitted and send no hello do not keep agents out.
func TestStrangersDoNotKeepAgentsOut(t *testing.T) {
	t.Parallel()
	c := newCluster(t, func(c *Config) {
		c.Limits = link.DefaultLimits()
		c.Limits.Unwelcomed, c.Limits.UnwelcomedEach, c.Limits.Hello = 12, 4, time.Minute
	})
	const upgrade = "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
	for i := range 48 {
		from := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 1, byte(i%12))}}
		conn, err := from.DialContext(t.Context(), "tcp", c.server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		if _, err := io.WriteString(conn, upgrade); err != nil {
			t.Fatal(err)
		}
		for c.connections.unwelcomed.size() <= i { // in order, so that none loses its place to a later one
			_ = wait.For(t.Context(), time.Millisecond) // the test's own limit ends it
		}
	}
	began := time.Now()
	c.join("agent-1", 1)
	if took := time.Since(began); took > time.Minute/4 {
		t.Errorf("an agent joined after %v, want at once", took)
	}
}

// size returns the number of connections that have a place or wait for one.
func (u *admissions) size() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.places.Taken() + len(u.waiting)
}

// A waiting connection is admitted as soon as another leaves, in order, but ahead of those whose address
// is at its limit. A connection that has stopped waiting is not counted.
func TestUnadmittedConnectionsWaitForAPlace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := newAdmissions(link.Limits{Unwelcomed: 4, UnwelcomedEach: 2, Hello: time.Minute})
		came := make(chan string, 8)
		leaves := map[string]func(){}
		enter := func(ctx context.Context, name, address string) {
			go func() {
				leave, err := u.admitConnection(ctx, address, func() {})
				if err == nil {
					leaves[name] = leave
					came <- name
				}
			}()
			synctest.Wait()
		}
		gone, hangUp := context.WithCancel(t.Context())
		enter(t.Context(), "a1", "a")
		enter(t.Context(), "a2", "a")
		enter(gone, "a3", "a")
		enter(t.Context(), "a4", "a")
		enter(t.Context(), "a5", "a")
		enter(t.Context(), "b1", "b")
		enter(t.Context(), "c1", "c")
		hangUp()
		synctest.Wait()
		for _, name := range []string{"b1", "a1", "c1", "a2"} {
			leaves[name]()
			synctest.Wait()
		}
		close(came)
		if got := slices.Collect(channel(came)); !slices.Equal(got, []string{"a1", "a2", "b1", "c1", "a4", "a5"}) {
			t.Errorf("got %v admitted", got)
		}
		if got := u.places.Taken(); got != 2 || len(u.waiting) != 0 {
			t.Errorf("got %d in all and %d that wait, want a4 and a5", got, len(u.waiting))
		}
	})
}

func channel[T any](c <-chan T) iter.Seq[T] {
	return func(yield func(T) bool) {
		for v := range c {
			if !yield(v) {
				return
			}
		}
	}
}

func TestMessageLimitRisesWithAdmission(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	p := c.dial()
	h := greeting(strings.Repeat("\x00", 70<<10), 0)
	_ = p.shout(&agentv1.AgentMessage{Body: &agentv1.AgentMessage_Hello{Hello: h}})
	if m, err := p.read(t.Context()); err == nil {
		t.Errorf("got %.200v, want the connection closed", m)
	}
	c.submit("t", 1)
	a, _ := c.join("a", 1)
	s := a.started()
	a.say(&agentv1.AgentMessage{Body: &agentv1.AgentMessage_Logs{Logs: &agentv1.Logs{
		ContainerId: s.GetContainerId(), AllocationId: s.GetAllocationId(),
		Lines: []*agentv1.Line{{AtUs: time.Now().UnixMicro(), Text: make([]byte, 1<<20)}},
	}}})
	if next := a.next().GetLogAck().GetNextSeq(); next != 1 {
		t.Errorf("got %d acknowledged, want the long line", next)
	}
}

func TestRefusalQuotesLittleInput(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	p := c.dial()
	p.say(&agentv1.AgentMessage{Body: &agentv1.AgentMessage_Hello{Hello: greeting(strings.Repeat("\x00", 30<<10), 0)}})
	if got := p.refused().GetReason(); len(got) > 1000 {
		t.Errorf("got %d bytes: %.100q", len(got), got)
	}
}
