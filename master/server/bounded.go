package server

import (
	"errors"
	"net"
	"sync"
)

// bounded has connections wait for which there is no room, and closes those that are too many
// to wait: neither costs a goroutine or a handshake.
type bounded struct {
	net.Listener
	*connections
	failed  chan error
	stopped chan struct{}
	stop    func()

	mu    sync.Mutex // guards what follows; it may be taken while connections.mu is held
	ready []net.Conn
	// some has a token while there are any that are ready.
	some chan struct{}
}

// newBounded accepts from l until it is closed.
func newBounded(l net.Listener, c *connections) *bounded {
	b := &bounded{Listener: l, connections: c, failed: make(chan error), stopped: make(chan struct{}), some: make(chan struct{}, 1)}
	b.stop = sync.OnceFunc(func() { close(b.stopped) })
	go b.acceptAll()
	return b
}

// Accept waits for a connection that is admitted.
func (b *bounded) Accept() (net.Conn, error) {
	for {
		if conn := b.takeReady(); conn != nil {
			return conn, nil
		}
		select {
		case <-b.some:
		case err := <-b.failed:
			return nil, err
		case <-b.stopped:
			return nil, net.ErrClosed
		}
	}
}

// Close closes the listener and what has not been handed on.
func (b *bounded) Close() error {
	b.stop()
	err := b.Listener.Close()
	b.closeAll()
	return err
}

// closeAll closes what has been accepted and not handed on.
func (b *bounded) closeAll() {
	b.closeWaiting()
	for conn := b.takeReady(); conn != nil; conn = b.takeReady() {
		_ = conn.Close() // the server stops
	}
}

// acceptAll accepts until the listener is closed. An error waits until it is taken, by a
// server that then rests.
func (b *bounded) acceptAll() {
	defer b.closeAll() // what came just before
	for {
		conn, err := b.Listener.Accept()
		if err == nil {
			b.enter(conn)
			continue
		}
		select {
		case b.failed <- err:
		case <-b.stopped:
			return
		}
		if errors.Is(err, net.ErrClosed) {
			return
		}
	}
}

func (b *bounded) enter(conn net.Conn) {
	host, _, err := net.SplitHostPort(conn.RemoteAddr().String())
	if err != nil {
		host = conn.RemoteAddr().String()
	}
	admit := func(leave func()) { b.putReady(&counted{Conn: conn, known: leave}) }
	if !b.enterOrWait(conn, host, admit) {
		_ = conn.Close() // the client sees it, whatever becomes of the call
	}
}

func (b *bounded) putReady(conn net.Conn) {
	b.mu.Lock()
	b.ready = append(b.ready, conn)
	b.mu.Unlock()
	select {
	case b.some <- struct{}{}:
	default:
	}
}

// takeReady is the first that is ready, or nil.
func (b *bounded) takeReady() net.Conn {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.ready) == 0 {
		b.ready = nil
		return nil
	}
	conn := b.ready[0]
	b.ready = b.ready[1:]
	return conn
}
