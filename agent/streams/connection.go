package streams

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"

	"github.com/det-deploy/det-deploy/agent/container"
	"github.com/det-deploy/det-deploy/internal/stream/frames"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
)

func serveConnection(ctx context.Context, e container.Entrance, o *agentv1.OpenStream, dial Dial) error {
	opening, cancel := context.WithTimeout(ctx, openTime)
	defer cancel()
	inside, err := e.Dial(opening, o.GetContainerId(), int(o.GetPort()))
	if err != nil {
		return err
	}
	ws, err := dial(opening, o.GetStreamId())
	if err != nil {
		return errors.Join(err, inside.Close())
	}
	linked, abort := context.WithCancel(ctx)
	defer abort()
	outside := frames.NewConn(linked, ws)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		<-outside.Done()
		_ = inside.Close() // a service may keep its end open
	}()
	join(outside, inside, abort)
	_, _ = outside.Close(), inside.Close()
	<-ended
	return nil
}

// join copies between two connections until both directions have ended. If one breaks, the other one does
// not end in an orderly way, but by abort.
func join(outside, inside net.Conn, abort func()) {
	var both sync.WaitGroup
	both.Go(func() { pass(outside, inside, abort) })
	both.Go(func() { pass(inside, outside, abort) })
	both.Wait()
}

func pass(to, from net.Conn, abort func()) {
	_, err := io.Copy(to, from)
	if c, ok := to.(interface{ CloseWrite() error }); ok && err == nil {
		err = c.CloseWrite()
	}
	if err != nil {
		abort()
	}
}
