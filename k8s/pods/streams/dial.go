package streams

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/streaming/pkg/httpstream"
)

// Conn is a connection whose input can be ended.
type Conn interface {
	net.Conn
	CloseWrite() error
}

// Dial connects to a port of a container at loopback. A port on which nothing listens shows in the first
// Read: Kubernetes connects when it has the stream.
func (c Client) Dial(ctx context.Context, to Container, port int) (Conn, error) {
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer context.AfterFunc(ctx, cancel)() // until it is open
	link, err := c.openLink(life, to)
	if err == nil {
		var out *conn
		if out, err = openPort(link, port, cancel); err == nil {
			return out, nil
		}
		_ = link.Close() // err is the reason
	}
	cancel()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return nil, explainError(err)
}

// openLink opens the connection to the API server that carries the streams of one port.
func (c Client) openLink(ctx context.Context, to Container) (httpstream.Connection, error) {
	cfg := rest.CopyConfig(c.Config)
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return bound{next, ctx} })
	at := c.streamURL(to, "portforward", &corev1.PodPortForwardOptions{})
	transport, upgrader, err := spdy.RoundTripperFor(cfg)
	if err != nil {
		return nil, err
	}
	plain := spdy.NewDialerForStreaming(upgrader, &http.Client{Transport: transport}, http.MethodPost, at)
	websocket, err := portforward.NewSPDYOverWebsocketDialerForStreaming(at, cfg)
	if err != nil {
		return nil, err
	}
	link, _, err := portforward.NewFallbackDialerForStreaming(websocket, plain, mayFallBack).Dial(portforward.PortForwardProtocolV1Name)
	return link, err
}

// bound ends requests with a context, because the dialers of client-go take none.
type bound struct {
	next http.RoundTripper
	ctx  context.Context //nolint:containedctx // that of the connection
}

// RoundTrip implements http.RoundTripper.
func (b bound) RoundTrip(r *http.Request) (*http.Response, error) {
	return b.next.RoundTrip(r.WithContext(b.ctx))
}

// openPort opens the pair of streams of a port: errors, and data.
func openPort(link httpstream.Connection, port int, cancel context.CancelFunc) (*conn, error) {
	headers := http.Header{}
	headers.Set(corev1.StreamType, corev1.StreamTypeError)
	headers.Set(corev1.PortHeader, strconv.Itoa(port))
	headers.Set(corev1.PortForwardRequestIDHeader, "0")
	problems, err := link.CreateStream(headers)
	if err != nil {
		return nil, err
	}
	_ = problems.Close() // nothing is written to it
	headers.Set(corev1.StreamType, corev1.StreamTypeData)
	data, err := link.CreateStream(headers)
	if err != nil {
		return nil, err
	}
	c := &conn{Stream: data, link: link, port: port, cancel: cancel, refused: make(chan error, 1)}
	go c.readProblems(problems)
	return c, nil
}

// conn is a connection to a port of a container.
type conn struct {
	httpstream.Stream
	link   httpstream.Connection
	port   int
	cancel context.CancelFunc
	// refused gets the reason why Kubernetes has ended the connection, or nil.
	refused chan error
}

// readProblems waits for the reason why Kubernetes has ended the connection.
func (c *conn) readProblems(from io.Reader) {
	text, err := io.ReadAll(io.LimitReader(from, 4<<10))
	if s := strings.TrimSpace(string(text)); err == nil && s != "" {
		c.refused <- fmt.Errorf("connect to port %d of the pod: %s", c.port, lastOf(s))
	}
	close(c.refused)
}

// lastOf returns the part of an error of the kubelet that is for users: "connect: connection refused".
func lastOf(s string) string {
	if _, after, found := strings.Cut(s, "dial tcp"); found {
		return "dial tcp" + after
	}
	return s
}

// Read implements net.Conn.
func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Stream.Read(b)
	if err == nil || n > 0 {
		return n, nil
	}
	select {
	case why := <-c.refused:
		if why != nil {
			return 0, why
		}
	case <-time.After(errorTime):
	}
	return 0, err
}

// errorTime is how long the reason of an end may come after the end.
const errorTime = time.Second

// CloseWrite tells the program that nothing more comes.
func (c *conn) CloseWrite() error { return c.Stream.Close() }

// Close implements net.Conn.
func (c *conn) Close() error {
	defer c.cancel()
	_ = c.Reset() // discards what is under way, so that the link can close
	return c.link.Close()
}

// address is the address of a port in a pod.
type address int

// Network implements net.Addr.
func (address) Network() string { return "tcp" }

// String implements net.Addr.
func (a address) String() string { return net.JoinHostPort("localhost", strconv.Itoa(int(a))) }

// LocalAddr implements net.Conn.
func (c *conn) LocalAddr() net.Addr { return address(0) }

// RemoteAddr implements net.Conn.
func (c *conn) RemoteAddr() net.Addr { return address(c.port) }

// SetDeadline implements net.Conn. Streams of Kubernetes have no deadlines.
func (c *conn) SetDeadline(time.Time) error { return os.ErrNoDeadline }

// SetReadDeadline implements net.Conn.
func (c *conn) SetReadDeadline(time.Time) error { return os.ErrNoDeadline }

// SetWriteDeadline implements net.Conn.
func (c *conn) SetWriteDeadline(time.Time) error { return os.ErrNoDeadline }
