package agentrm

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"

	"github.com/coder/websocket"

	"github.com/det-deploy/det-deploy/excerpt"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
	"github.com/det-deploy/det-deploy/master/rm"
)

// connections are the links of agents and of machines that set themselves up, from the
// first byte to the last. What an agent says after its hello goes to the inbox.
type connections struct {
	cfg     Config
	state   *state
	records *records
	roster  *roster
	inbox   *inbox
	// unwelcomed counts those that have not been admitted.
	unwelcomed *admissions
	// open counts all.
	open sync.WaitGroup

	// mu guards what follows. It is never held together with state.mu.
	mu      sync.Mutex
	serving bool
	// preparing are the links of machines that set themselves up.
	preparing map[*link]bool
}

func newConnections(s *state, ros *roster, in *inbox) *connections {
	return &connections{
		cfg: s.cfg, state: s, records: ros.records, roster: ros, inbox: in,
		unwelcomed: newAdmissions(s.cfg.Limits), preparing: make(map[*link]bool),
	}
}

// acceptAgents lets agents connect.
func (c *connections) acceptAgents() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.serving = true
}

// closeAll drops what is left, and returns when every link is closed.
func (c *connections) closeAll(reason string) {
	c.mu.Lock()
	c.serving = false
	for l := range c.preparing {
		l.closeLink(reason)
	}
	c.mu.Unlock()
	c.open.Wait()
}

// addConnection counts a connection, unless the master does not serve agents.
func (c *connections) addConnection() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.serving {
		c.open.Add(1)
	}
	return c.serving
}

// addPreparing has a link dropped when the master stops.
func (c *connections) addPreparing(l *link) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.serving {
		c.preparing[l] = true
	}
	return c.serving
}

func (c *connections) removePreparing(l *link) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.preparing, l)
}

// dropPreparing drops the link of a machine that sets itself up.
func (c *connections) dropPreparing(id rm.AgentID, reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for l := range c.preparing {
		if l.agent == id {
			l.closeLink(reason)
		}
	}
}

// ServeHTTP is the place where agents connect.
func (c *connections) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if !c.addConnection() {
		http.Error(w, "the master is not ready for agents; try again", http.StatusServiceUnavailable)
		return
	}
	defer c.open.Done()
	address := remoteHost(req)
	leave, err := c.unwelcomed.admitConnection(address)
	if err != nil {
		w.Header().Set("Retry-After", "1")
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	defer leave()
	conn, err := websocket.Accept(w, req, nil)
	if err != nil {
		c.cfg.Log.Debug("cannot upgrade connection to WebSocket", "address", req.RemoteAddr, "err", err)
		return
	}
	defer func() { _ = conn.CloseNow() }() // it is closed in good order where there is an order
	conn.SetReadLimit(c.cfg.Limits.Introduction)
	ctx, cancel := context.WithCancelCause(req.Context())
	defer cancel(nil)
	l := newLink(address, conn, c.cfg.Limits, cancel)
	l.admitted = func(ctx context.Context) { leave(); c.cfg.Admitted(ctx) }
	err = c.serveLink(ctx, l)
	c.cfg.Log.Info("agent disconnected", "agent_id", l.agent, "address", l.address, "err", err)
}

func remoteHost(req *http.Request) string {
	host, _, err := net.SplitHostPort(req.RemoteAddr)
	if err != nil {
		return req.RemoteAddr
	}
	return host
}

// serveLink is one link from hello to the end.
func (c *connections) serveLink(ctx context.Context, l *link) error {
	hello, err := c.readHello(ctx, l.conn)
	switch {
	case err != nil:
	case hello.GetPreparing():
		err = c.prepareMachine(ctx, l, hello)
		c.sendRefusal(ctx, l, err)
		return err
	default:
		err = c.admitAgent(ctx, l, hello)
	}
	if err != nil {
		c.sendRefusal(ctx, l, err)
		return err
	}
	defer c.roster.disconnectAgent(l)
	l.raiseLimits(ctx)
	c.cfg.Log.Info("agent connected", "agent_id", l.agent, "address", l.address, "version", excerpt.Of(hello.GetVersion()))
	var wg sync.WaitGroup
	for _, f := range []func(context.Context) error{l.writeMessages, l.pingAgent, c.awaitRevocation(l)} {
		wg.Go(func() {
			if err := f(ctx); err != nil {
				l.cancel(err)
			}
		})
	}
	err = l.readMessages(ctx, func(ctx context.Context, m *agentv1.AgentMessage) error { return c.inbox.handleMessage(ctx, l, m) })
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	c.sendRefusal(ctx, l, err) // before the writer stops, which may cut the connection
	l.cancel(err)
	wg.Wait()
	return err
}

// awaitRevocation tells an agent that is revoked, while its link still stands.
func (c *connections) awaitRevocation(l *link) func(context.Context) error {
	return func(ctx context.Context) error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case why := <-l.revoked:
			c.sendRefusal(ctx, l, why)
			return errors.New(why.Reason)
		}
	}
}

// readHello waits for the agent's introduction.
func (c *connections) readHello(ctx context.Context, conn *websocket.Conn) (*agentv1.Hello, error) {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.Limits.Hello)
	defer cancel()
	m, err := readMessage(ctx, conn)
	if err != nil {
		return nil, err
	}
	if m.GetHello() == nil {
		return nil, refuseFinal("the first message of an agent must be its hello")
	}
	return m.GetHello(), nil
}

// sendRefusal tells an agent why it is not wanted, if that is what err is.
func (c *connections) sendRefusal(ctx context.Context, l *link, err error) {
	var refused *Refused
	if !errors.As(err, &refused) {
		return
	}
	c.cfg.Log.Warn("agent refused", "agent_id", l.agent, "address", l.address, "err", refused)
	m := &agentv1.MasterMessage{Body: &agentv1.MasterMessage_Refusal{Refusal: &agentv1.Refusal{
		Reason: refused.Reason, Final: refused.Final, Rejoin: refused.Rejoin, Unwanted: refused.Unwanted,
		Revoked: refused.Revoked,
	}}}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.cfg.Limits.Hello)
	defer cancel()
	if err := l.writeOne(ctx, m); err != nil {
		c.cfg.Log.Debug("cannot send refusal", "address", l.address, "err", err)
		return
	}
	_ = l.conn.Close(websocket.StatusPolicyViolation, "refused") // the agent has been told; how it leaves is its affair
}

// prepareMachine tells a launched machine how to set itself up, and stays with it until
// it has: then it hangs up and connects again as an agent. It is no agent until
// then, so that nothing is sent to a machine that may not be able to run it.
func (c *connections) prepareMachine(ctx context.Context, l *link, h *agentv1.Hello) error {
	if err := c.checkHello(h); err != nil {
		return err
	}
	who, err := c.askGate(ctx, h, l.address)
	if err != nil {
		return err
	}
	if !who.Launched {
		return refuseFinal("agent %s is not on a machine that the master launched, and sets itself up", who.Agent)
	}
	credential, err := c.acceptAgent(ctx, who)
	if err != nil {
		return err
	}
	w := c.roster.newWelcome(arrival{Identity: who, credential: credential, programs: c.programsFor(h)})
	w.Preparation = c.cfg.Prepare(who.Pool)
	l.agent = who.Agent // for the log and for expel; nothing is sent to it by this name
	if !c.addPreparing(l) {
		return refuseRetry("the master stops; try again")
	}
	defer c.removePreparing(l)
	l.admitted(ctx)
	c.cfg.Log.Info("agent admitted", "agent_id", who.Agent, "pool", who.Pool, "address", l.address, "version", excerpt.Of(h.GetVersion()))
	err = l.writeOne(ctx, &agentv1.MasterMessage{Body: &agentv1.MasterMessage_Welcome{Welcome: w}})
	if err != nil {
		return err
	}
	return l.readMessages(ctx, func(_ context.Context, m *agentv1.AgentMessage) error {
		if u := m.GetUnprepared(); u != nil {
			c.cfg.Log.Warn("machine cannot be set up", "agent_id", who.Agent, "pool", who.Pool, "reason", excerpt.Message(u.GetReason()))
			c.cfg.Unprepared(who.Agent, excerpt.Message(u.GetReason()))
		}
		return nil
	})
}
