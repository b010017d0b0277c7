package streams

import (
	"io"
	"net"
	"sync"

	"github.com/det-deploy/det-deploy/internal/stream"
	"github.com/det-deploy/det-deploy/master/rm"
)

// The most streams that are open at a time.
const (
	maxPerContainer = 256
	maxInAll        = 4096
)

// Counter bounds the streams that are open.
type Counter struct {
	mu    sync.Mutex // guards the fields below
	each  map[rm.ContainerID]int
	total int
}

// NewCounter returns a counter.
func NewCounter() *Counter { return &Counter{each: make(map[rm.ContainerID]int)} }

// Acquire counts a stream into a container. The function that it returns ends it, and may be called
// repeatedly.
func (c *Counter) Acquire(id rm.ContainerID) (release func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.each[id] >= maxPerContainer || c.total >= maxInAll {
		return nil, rm.ErrTooManyStreams
	}
	c.each[id]++
	c.total++
	return sync.OnceFunc(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.total--
		if c.each[id]--; c.each[id] == 0 {
			delete(c.each, id)
		}
	}), nil
}

// CountConn returns a connection that calls release when it is closed.
func CountConn(c Conn, release func()) net.Conn { return &countedConn{c, release} }

type countedConn struct {
	Conn
	release func()
}

func (c *countedConn) Close() error {
	defer c.release()
	return c.Conn.Close()
}

// CountProcess returns a process that calls release when it is closed.
func CountProcess(p stream.Process, release func()) stream.Process {
	return &countedProcess{p, release}
}

type countedProcess struct {
	stream.Process
	release func()
}

func (p *countedProcess) Close() error {
	defer p.release()
	return p.Process.Close()
}

// CountReader returns a reader that calls release when it is closed.
func CountReader(r io.ReadCloser, release func()) io.ReadCloser {
	return &countedReader{r, release}
}

type countedReader struct {
	io.ReadCloser
	release func()
}

func (r *countedReader) Close() error {
	defer r.release()
	return r.ReadCloser.Close()
}
