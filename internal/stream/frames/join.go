package frames

import (
	"context"
	"io"
	"net"
	"sync"
	"time"
)

// Join copies between two connections until both directions have ended, and closes both. If one of them
// breaks, the other does not end in an orderly way: its other end would take a part for the whole. When ctx
// is done both are aborted. Join returns when nothing of a Conn is left.
func Join(ctx context.Context, a, b io.ReadWriteCloser) {
	stop := context.AfterFunc(ctx, func() { abort(a); abort(b) })
	defer stop()
	var work sync.WaitGroup
	there, back := make(chan struct{}), make(chan struct{})
	work.Go(func() { defer close(there); pass(b, a) })
	work.Go(func() { defer close(back); pass(a, b) })
	work.Go(func() { follow(a, b, there) })
	work.Go(func() { follow(b, a, back) })
	<-there
	<-back
	_, _ = a.Close(), b.Close()
	work.Wait()
}

// lastWrite is the time for a connection to take what was read from the other one before that ended.
const lastWrite = 30 * time.Second

// follow closes a connection after the other one if that is a Conn that has ended: its own end may keep it
// open. passed is closed when everything that was read is written.
func follow(first, other io.ReadWriteCloser, passed <-chan struct{}) {
	c, ok := first.(*Conn)
	if !ok {
		return
	}
	<-c.Done()
	limit := time.NewTimer(lastWrite)
	defer limit.Stop()
	select {
	case <-passed:
	case <-limit.C:
	}
	_ = other.Close()
}

// pass copies one direction.
func pass(to, from io.ReadWriteCloser) {
	r := &failing{Reader: from}
	_, err := io.Copy(struct{ io.Writer }{to}, r)
	switch {
	case r.err != nil:
		abort(to)
	case err != nil:
		abort(from) // nobody takes what it sends
	default:
		if c, ok := to.(interface{ CloseWrite() error }); ok {
			_ = c.CloseWrite() // an error is that of the other direction too
		}
	}
}

// failing records the error of a reader.
type failing struct {
	io.Reader
	err error
}

func (f *failing) Read(p []byte) (int, error) {
	n, err := f.Reader.Read(p)
	if err != nil && err != io.EOF {
		f.err = err
	}
	return n, err
}

// abort closes a connection such that its other end notices that something is missing.
func abort(c io.Closer) {
	switch c := c.(type) {
	case *Conn:
		c.Abort()
	case *net.TCPConn:
		_ = c.SetLinger(0) // a reset
		_ = c.Close()
	default:
		_ = c.Close()
	}
}
