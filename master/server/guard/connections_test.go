package guard

import (
	"crypto/tls"
	"net"
	"net/http"
	"testing"
)

func TestNoteStateOfTLSConnection(t *testing.T) {
	t.Parallel()
	c := NewConnections(1, 0, nil)
	client, server := net.Pipe()
	defer client.Close() //nolint:errcheck // it ends with the test
	one, ok := c.enter(server)
	if !ok {
		t.Fatal("the first connection is refused")
	}
	conn := tls.Server(one, &tls.Config{MinVersion: tls.VersionTLS12})
	for _, state := range []http.ConnState{http.StateNew, http.StateActive, http.StateIdle, http.StateClosed} {
		NoteState(conn, state)
	}
	MarkKnown(WithConnection(t.Context(), conn))
	if got := c.Taken(); got != 0 {
		t.Errorf("got %d places taken, want none once the caller is known", got)
	}
	_ = conn.NetConn().Close()
}
