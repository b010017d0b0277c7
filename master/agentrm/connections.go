package agentrm

import (
	"context"
	"net"
	"net/http"
	"sync"

	"github.com/det-deploy/det-deploy/internal/excerpt"
	"github.com/det-deploy/det-deploy/master/agentrm/link"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
	"github.com/det-deploy/det-deploy/master/rm"
)

// connections handles the links of agents, and of machines that set themselves up, from the first byte
// to the last. The inbox handles an agent's messages after its hello.
type connections struct {
	cfg     Config
	state   *state
	records *records
	roster  *roster
	inbox   *inbox
	// unwelcomed limits the connections that are not admitted yet.
	unwelcomed *admissions
	// watch has the links of agents.
	watch *link.Watch
	// open counts all connections.
	open sync.WaitGroup

	// mu guards the fields below. It is never held together with state.mu.
	mu      sync.Mutex
	serving bool
	// preparing are the links of machines that set themselves up.
	preparing map[*link.Link]bool
}

func newConnections(s *state, ros *roster, in *inbox) *connections {
	return &connections{
		cfg: s.cfg, state: s, records: ros.records, roster: ros, inbox: in,
		unwelcomed: newAdmissions(s.cfg.Limits), preparing: make(map[*link.Link]bool), watch: link.NewWatch(s.cfg.Limits),
	}
}

// acceptAgents allows agents to connect.
func (c *connections) acceptAgents() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.serving = true
}

// closeAll closes the remaining links, and returns when every connection is closed.
func (c *connections) closeAll(reason string) {
	c.mu.Lock()
	c.serving = false
	for l := range c.preparing {
		l.Close(reason)
	}
	c.mu.Unlock()
	c.open.Wait()
}

// addConnection counts a connection. It reports false if the master does not serve agents.
func (c *connections) addConnection() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.serving {
		c.open.Add(1)
	}
	return c.serving
}

// addPreparing registers a link to be closed when the master stops. It reports false if the master is
// stopping.
func (c *connections) addPreparing(l *link.Link) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.serving {
		c.preparing[l] = true
	}
	return c.serving
}

func (c *connections) removePreparing(l *link.Link) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.preparing, l)
}

// dropPreparing closes the link of a machine that sets itself up.
func (c *connections) dropPreparing(id rm.AgentID, reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for l := range c.preparing {
		if l.Agent == id {
			l.Close(reason)
		}
	}
}

// ServeHTTP serves the connections of agents.
func (c *connections) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if !c.addConnection() {
		http.Error(w, "the master is not ready for agents; try again", http.StatusServiceUnavailable)
		return
	}
	defer c.open.Done()
	address := remoteHost(req)
	ctx, cancel := context.WithCancelCause(req.Context())
	defer cancel(nil)
	leave, err := c.unwelcomed.admitConnection(ctx, address, func() { cancel(errCrowded) })
	if err != nil {
		w.Header().Set("Retry-After", "1")
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	defer leave()
	l := link.New(address, c.cfg.Limits, cancel)
	l.Log = c.cfg.Log
	l.Admitted = func(ctx context.Context) { leave(); c.cfg.Admitted(ctx) }
	if err := l.Accept(w, req); err != nil {
		c.cfg.Log.Debug("cannot upgrade connection to WebSocket", "address", req.RemoteAddr, "err", err)
		return
	}
	defer l.HangUp()
	err = c.serveLink(ctx, l)
	c.cfg.Log.Info("agent disconnected", "agent_id", l.Agent, "address", l.Address, "err", err)
}

func remoteHost(req *http.Request) string {
	host, _, err := net.SplitHostPort(req.RemoteAddr)
	if err != nil {
		return req.RemoteAddr
	}
	return host
}

// serveLink serves one link from hello to the end, and returns why it ended.
func (c *connections) serveLink(ctx context.Context, l *link.Link) error {
	hello, err := l.ReadHello(ctx)
	switch {
	case err != nil:
	case hello.GetPreparing():
		err = c.prepareMachine(ctx, l, hello)
		l.Refuse(ctx, err)
		return err
	default:
		err = c.admitAgent(ctx, l, hello)
	}
	if err != nil {
		l.Refuse(ctx, err)
		return err
	}
	defer c.roster.disconnectAgent(l)
	l.Admit(ctx)
	c.cfg.Log.Info("agent connected", "agent_id", l.Agent, "address", l.Address, "version", excerpt.Of(hello.GetVersion()))
	c.watch.Add(l)
	defer c.watch.Remove(l)
	var wg sync.WaitGroup
	l.Serve(func(work link.Work) {
		wg.Go(func() {
			if err := work(ctx); err != nil {
				l.End(err)
			}
		})
	})
	err = l.Read(ctx, func(ctx context.Context, m *agentv1.AgentMessage) error { return c.inbox.handleMessage(ctx, l, m) })
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	l.Refuse(ctx, err) // before the writer stops, which may cut the connection
	l.End(err)
	l.Stop()
	wg.Wait()
	return err
}

// prepareMachine sends a launched machine its setup and waits until the machine has completed it, closes
// the connection and connects again as an agent. It is not an agent before that, so that no container is
// sent to a machine that may be unable to run it.
func (c *connections) prepareMachine(ctx context.Context, l *link.Link, h *agentv1.Hello) error {
	if err := c.checkHello(h); err != nil {
		return err
	}
	who, err := c.askGate(ctx, h, l.Address)
	if err != nil {
		return err
	}
	if !who.Launched {
		return link.Final("agent %s requests a setup, but the master did not launch its machine", who.Agent)
	}
	credential, err := c.acceptAgent(ctx, who)
	if err != nil {
		return err
	}
	w := c.roster.newWelcome(arrival{Identity: who, credential: credential, programs: c.programsFor(h)})
	w.Preparation = c.cfg.Prepare(who.Pool)
	l.Agent = who.Agent // for the log and for expel; no messages are sent under this name
	if !c.addPreparing(l) {
		return link.Retry("the master is stopping; try again")
	}
	defer c.removePreparing(l)
	l.Admitted(ctx)
	c.cfg.Log.Info("agent admitted", "agent_id", who.Agent, "pool", who.Pool, "address", l.Address, "version", excerpt.Of(h.GetVersion()))
	err = l.Write(ctx, &agentv1.MasterMessage{Body: &agentv1.MasterMessage_Welcome{Welcome: w}})
	if err != nil {
		return err
	}
	return l.Read(ctx, func(_ context.Context, m *agentv1.AgentMessage) error {
		if u := m.GetUnprepared(); u != nil {
			c.cfg.Log.Warn("machine cannot be set up", "agent_id", who.Agent, "pool", who.Pool, "reason", excerpt.Message(u.GetReason()))
			c.cfg.Unprepared(who.Agent, excerpt.Message(u.GetReason()))
		}
		return nil
	})
}
