package frames

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// Conn is a connection over a websocket. It behaves like one of TCP, except that a write deadline that
// passes during a write closes it.
type Conn struct {
	net.Conn // the library's, which writes

	wire   *wire
	ctx    context.Context //nolint:containedctx // the lifetime of the websocket
	cancel context.CancelFunc
	// arrived returns the bytes that receive writes to received. Only one direction of the pipe is used.
	arrived, received net.Conn
	// lost is why nothing arrives, if the other end did not say so in an orderly way. It is set before
	// received is closed.
	lost error
	// writing is held during a write.
	writing sync.Mutex

	mu     sync.Mutex // guards the fields below
	ended  bool       // CloseWrite was called
	read   bool       // the other end has read everything up to our end
	closed bool
}

// NewConn returns the connection over a websocket. When ctx is done it is closed.
func NewConn(ctx context.Context, ws *websocket.Conn) *Conn { return newConn(ctx, ws, usual()) }

func newConn(ctx context.Context, ws *websocket.Conn, t timing) *Conn {
	ctx, cancel := context.WithCancel(ctx)
	c := &Conn{Conn: websocket.NetConn(ctx, ws, websocket.MessageBinary), ctx: ctx, cancel: cancel}
	c.wire = newWire(ws, t) // NetConn has removed the limit
	c.wire.onText = c.takeText
	c.arrived, c.received = net.Pipe()
	go c.wire.keepAlive(ctx)
	go c.receive()
	return c
}

// endRead is the text message of an end that has read everything up to an empty message. A connection
// that was closed is kept until then: to close a socket at once could discard what was not read.
const endRead = "end"

// receive passes on what arrives until the websocket closes. What the reader does not want is dropped,
// so that the end of the websocket is noticed.
func (c *Conn) receive() {
	defer c.cancel()
	stop := context.AfterFunc(c.ctx, func() { _ = c.received.SetWriteDeadline(time.Unix(0, 1)) }) // nobody reads
	defer stop()
	for ended := false; ; {
		data, err := c.wire.read(c.ctx)
		if err != nil {
			_ = c.wire.ws.CloseNow()
			if !ended {
				c.lost = err
			}
			_ = c.received.Close() // never an error
			return
		}
		switch {
		case ended:
		case len(data) == 0:
			ended = true
			_ = c.received.Close()
			go func() { _ = c.wire.ws.Write(c.ctx, websocket.MessageText, []byte(endRead)) }() // must not delay reading
		default:
			_, _ = c.received.Write(data) // fails when the reader has closed
		}
	}
}

func (c *Conn) takeText(text string) error {
	if text != endRead {
		return errText
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read = true
	if c.closed {
		c.cancel()
	}
	return nil
}

// Read implements net.Conn. It returns an error wrapping ErrLost instead of io.EOF if the other end has
// vanished.
func (c *Conn) Read(p []byte) (int, error) {
	n, err := c.arrived.Read(p)
	if errors.Is(err, io.EOF) && c.lost != nil {
		return n, c.lost
	}
	return n, err
}

// Write implements net.Conn.
func (c *Conn) Write(p []byte) (n int, err error) {
	c.writing.Lock()
	defer c.writing.Unlock()
	c.mu.Lock()
	ended := c.ended
	c.mu.Unlock()
	if ended {
		return 0, net.ErrClosed
	}
	for n < len(p) {
		m, err := c.Conn.Write(p[n:min(len(p), n+chunk)])
		n += m
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// CloseWrite ends this direction; the other end reads io.EOF.
func (c *Conn) CloseWrite() error {
	c.mu.Lock()
	ended := c.ended
	c.ended = true
	c.mu.Unlock()
	switch {
	case ended:
		return nil
	case c.ctx.Err() != nil: // a write could succeed nevertheless, and would make it an orderly end
		return context.Cause(c.ctx)
	}
	return c.wire.write(c.ctx, nil)
}

// Close implements net.Conn. The websocket remains open until the other end has read what was written, or
// has vanished; then Done is closed. A write that waits ends at once, and the websocket with it.
func (c *Conn) Close() error {
	_ = c.arrived.Close() // never an error
	if !c.writing.TryLock() {
		c.cancel()
		return nil
	}
	defer c.writing.Unlock()
	go func() { _ = c.CloseWrite() }() // the other end may read nothing for long
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	if c.read {
		c.cancel()
	}
	return nil
}

// Abort ends the connection without an orderly end: reads at both ends return an error.
func (c *Conn) Abort() { c.cancel() }

// Done is closed when nothing of the connection is left.
func (c *Conn) Done() <-chan struct{} { return c.ctx.Done() }

// SetReadDeadline implements net.Conn.
func (c *Conn) SetReadDeadline(t time.Time) error { return c.arrived.SetReadDeadline(t) }

// SetDeadline implements net.Conn.
func (c *Conn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}
