package link

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"time"

	"github.com/coder/websocket"
	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/proto"

	"github.com/det-deploy/det-deploy/agent/lease"
	"github.com/det-deploy/det-deploy/internal/wait"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
)

const (
	// dialTimeout limits connecting and the exchange of hello and welcome.
	dialTimeout = 20 * time.Second
	// pingInterval is the maximum interval between pings. It prevents proxies from closing an idle
	// connection, usually after a minute, and is shorter than the 10 s after which a master sends
	// its own pings.
	pingInterval = 9 * time.Second
	// pingTimeout is the time without an answer after which a connection counts as lost.
	pingTimeout = 20 * time.Second
	// maxMessage is the maximum size of a message in bytes. An order contains the files of its
	// task; clients send up to 95 MiB of files.
	maxMessage = 128 << 20
)

// Conn sends and receives messages on one connection.
type Conn struct {
	ws  *websocket.Conn
	cfg Config
	// credential is the agent's after the welcome.
	credential string
	// in is the read buffer, reused between messages.
	in bytes.Buffer
}

// keptBuffer is the maximum capacity in bytes of a read buffer to reuse.
const keptBuffer = 64 << 10

// Send sends one message. It is safe for concurrent use.
func (c *Conn) Send(ctx context.Context, m *agentv1.AgentMessage) error {
	data, err := proto.Marshal(m)
	if err != nil {
		return &Final{Err: fmt.Errorf("encode message to the master: %w", err)}
	}
	if err := c.ws.Write(ctx, websocket.MessageBinary, data); err != nil {
		return fmt.Errorf("send to the master: %w", err)
	}
	return nil
}

// Receive waits for one message. Only one goroutine may call it. It returns a *RefusedError if the
// master rejects the agent.
func (c *Conn) Receive(ctx context.Context) (*agentv1.MasterMessage, error) {
	kind, r, err := c.ws.Reader(ctx)
	if err == nil {
		c.in.Reset()
		_, err = c.in.ReadFrom(r)
	}
	if err != nil {
		return nil, fmt.Errorf("receive from the master: %w", err)
	}
	if kind != websocket.MessageBinary {
		return nil, errors.New("receive from the master: unexpected text frame; check master_host and master_port")
	}
	var m agentv1.MasterMessage
	if err := proto.Unmarshal(c.in.Bytes(), &m); err != nil { // Unmarshal copies the data
		return nil, fmt.Errorf("decode message of the master: %w", err)
	}
	if c.in.Cap() > keptBuffer {
		c.in = bytes.Buffer{}
	}
	if r := m.GetRefusal(); r != nil {
		return nil, &RefusedError{
			Reason: r.GetReason(), final: r.GetFinal(), rejoin: r.GetRejoin(), unwanted: r.GetUnwanted(), revoked: r.GetRevoked(),
		}
	}
	return &m, nil
}

// connectOnce connects, sends the hello, and serves the peer until the connection ends.
func (l *link) connectOnce(ctx context.Context) (welcomed bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	asked := lease.Now()
	c, w, err := l.dialMaster(ctx)
	if err != nil {
		return false, err
	}
	reconnectWait := time.Duration(w.GetReconnectWaitUs()) * time.Microsecond
	// In this order: a shorter wait does not apply to the lease of the previous answer.
	l.cfg.Lease.Answered(asked)
	l.cfg.Lease.Learn(reconnectWait)
	defer func() { _ = c.ws.CloseNow() }()
	if err := l.keepCredential(w.GetCredential()); err != nil {
		return false, err
	}
	if c.credential, err = l.currentCredential(); err != nil {
		return false, err
	}
	l.last = ""
	l.cfg.Log.Info("connected to the master", "url", l.cfg.URL, "cluster", w.GetClusterId(), "master_version", w.GetVersion())

	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		// Any end of Serve stops the pings.
		defer cancel()
		return l.peer.Serve(gctx, c, w)
	})
	g.Go(func() error { return keepAlive(gctx, c, l.cfg.Lease, reconnectWait) })
	err = g.Wait()
	if err == nil {
		_ = c.ws.Close(websocket.StatusNormalClosure, "")
	}
	return true, err
}

// dialMaster connects and exchanges hello and welcome.
func (l *link) dialMaster(ctx context.Context) (*Conn, *agentv1.Welcome, error) {
	hello := l.peer.Hello()
	hello.Protocol = agentv1.Protocol
	if err := l.proveIdentity(ctx, hello); err != nil {
		return nil, nil, err
	}
	dctx, cancel := context.WithTimeout(ctx, clampDuration(l.cfg.Lease.Wait()/3, 3*time.Second, dialTimeout))
	defer cancel()
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: l.cfg.TLS}
	defer transport.CloseIdleConnections()
	var local net.Addr
	//nolint:bodyclose // the library closes the body, or replaces it by one in memory
	ws, _, err := websocket.Dial(traceAddress(dctx, &local), l.cfg.URL, &websocket.DialOptions{HTTPClient: &http.Client{Transport: transport}})
	if err != nil {
		return nil, nil, fmt.Errorf("connect: %w", err)
	}
	ws.SetReadLimit(maxMessage)
	hello.Address, hello.Addresses = addressOf(dctx, local), interfaceAddresses()
	c := &Conn{ws: ws, cfg: l.cfg}
	w, err := c.sendHello(dctx, hello)
	if err != nil {
		_ = ws.CloseNow()
		return nil, nil, err
	}
	return c, w, nil
}

func (c *Conn) sendHello(ctx context.Context, hello *agentv1.Hello) (*agentv1.Welcome, error) {
	if err := c.Send(ctx, &agentv1.AgentMessage{Body: &agentv1.AgentMessage_Hello{Hello: hello}}); err != nil {
		return nil, err
	}
	m, err := c.Receive(ctx)
	if err != nil {
		return nil, err
	}
	w := m.GetWelcome()
	if w == nil {
		return nil, fmt.Errorf("unexpected answer to hello: %T", m.GetBody())
	}
	return w, nil
}

// keepAlive detects dead connections and renews the lease. One ping per third of the wait, with a
// timeout of a quarter, leaves two fifths of the wait to reconnect. Pings are sent at a random time
// within the last half of the interval, so that agents welcomed together do not ping together.
func keepAlive(ctx context.Context, c *Conn, held *lease.Lease, reconnectWait time.Duration) error {
	interval := clampDuration(reconnectWait/3, time.Second, pingInterval)
	for {
		_ = wait.For(ctx, interval/2+rand.N(interval/2)) // ping checks ctx too
		asked := lease.Now()
		err := c.ping(ctx, clampDuration(reconnectWait/4, time.Second, pingTimeout))
		switch {
		case ctx.Err() != nil:
			return nil //nolint:nilerr // the end of ctx is not an error
		case err != nil:
			return fmt.Errorf("ping the master: %w", err)
		}
		held.Answered(asked)
	}
}

// clampDuration limits d to [least, most]. It returns most if d is not positive.
func clampDuration(d, least, most time.Duration) time.Duration {
	if d <= 0 {
		return most
	}
	return max(least, min(d, most))
}

func (c *Conn) ping(ctx context.Context, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return c.ws.Ping(ctx)
}
