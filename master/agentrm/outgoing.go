package agentrm

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// outgoing is a connection on which messages may gather, to leave together: of a short message the
// system's call is most of what it costs, here and at the agent.
type outgoing struct {
	net.Conn

	mu   sync.Mutex // guards what follows
	held bool
	kept []byte
}

// mostKept is how many bytes gather at most; others go as they come.
const mostKept = 32 << 10

// Write implements net.Conn.
func (o *outgoing) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.held && len(o.kept)+len(p) <= mostKept {
		o.kept = append(o.kept, p...)
		return len(p), nil
	}
	if err := o.writeKept(); err != nil {
		return 0, err
	}
	return o.Conn.Write(p)
}

// writeKept writes what has gathered. The caller holds mu.
func (o *outgoing) writeKept() error {
	if len(o.kept) == 0 {
		return nil
	}
	_, err := o.Conn.Write(o.kept)
	o.kept = o.kept[:0]
	return err
}

// hold has messages gather from now on.
func (o *outgoing) hold() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.held = true
}

// release writes what has gathered, in time.
func (o *outgoing) release(limit time.Duration) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.held = false
	if len(o.kept) == 0 {
		return nil
	}
	if err := o.SetWriteDeadline(time.Now().Add(limit)); err != nil {
		return err
	}
	err := o.writeKept()
	o.kept = nil // ten thousand connections rest
	if err != nil {
		return err
	}
	return o.SetWriteDeadline(time.Time{})
}

// upgrade answers a request that becomes a connection, whose messages may gather.
type upgrade struct {
	http.ResponseWriter
	out *outgoing
}

// Hijack implements http.Hijacker.
func (u *upgrade) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffers, err := http.NewResponseController(u.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, fmt.Errorf("take over the connection of an agent: %w", err)
	}
	u.out = &outgoing{Conn: conn}
	buffers.Writer.Reset(u.out)
	return u.out, buffers, nil
}
