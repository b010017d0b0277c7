package agentrm

import (
	"slices"
	"time"

	"github.com/det-deploy/det-deploy/internal/excerpt"
	"github.com/det-deploy/det-deploy/master/agentrm/link"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/token"
)

// roster manages the agents: those that connect, disconnect, are given up, drained, sick, disabled or
// removed. It works under state.mu.
type roster struct {
	*state
	records *records
	runner  *runner

	// arriving are agents that are being admitted. state.mu guards them.
	arriving map[rm.AgentID]bool
	// expiry is the result of the last check for lost agents. state.mu guards it.
	expiry expiry
}

// resumeAgents restarts the reconnect wait of each agent, however long the restart of the master took.
// The caller holds mu.
func (r *roster) resumeAgents(now time.Time) {
	for _, a := range r.agents {
		a.since = now
	}
	r.noteAgents()
}

// reservePlace reserves the id of an agent that is about to connect. It returns an error if an agent of
// the name is connected or connecting.
func (r *roster) reservePlace(l *link.Link, h *agentv1.Hello, who Identity) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.checkArrival(h, who); err != nil {
		return err
	}
	if r.arriving[who.Agent] {
		return link.Retry("agent %s is already connecting from another address; agent ids must be unique", who.Agent)
	}
	r.arriving[who.Agent] = true
	l.Agent = who.Agent // for the log
	return nil
}

func (r *roster) freePlace(id rm.AgentID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.arriving, id)
}

// arrival is an agent that connects.
type arrival struct {
	Identity
	credential token.Text
	next       map[rm.ContainerID]uint64 // the next missing log line of each container
	programs   map[string]string         // the programs with which it may replace its own
}

// connectAgent marks the agent as connected and queues the welcome and all outstanding orders.
func (r *roster) connectAgent(l *link.Link, h *agentv1.Hello, who arrival) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.arriving[who.Agent] {
		return link.Retry("agent %s was revoked while it connected; try again", who.Agent)
	}
	isNew := r.agents[who.Agent] == nil
	a, err := r.addAgent(h, who.Identity)
	if err != nil {
		return err
	}
	a.address, a.own, l.Agent = l.Address, ownAddress(h.GetAddress()), a.id
	a.interfaces, a.machine = h.GetAddresses(), excerpt.Of(h.GetMachine())
	a.version, a.devices, a.pool = h.GetVersion(), sortDevices(h.GetDevices()), who.Pool
	a.restrictions, a.opensStreams = restrictionsOf(h), h.GetStreams()
	if _, known := r.launched[a.pool]; who.Launched && (isNew || !known) {
		r.launched[a.pool] = a.restrictions
	}
	r.setSickness(a, sicknessOf(h.GetHealth()))
	known := r.reconcileContainers(a, h, who.next)
	w := r.newWelcome(who)
	w.Containers = known
	l.Send(&agentv1.MasterMessage{Body: &agentv1.MasterMessage_Welcome{Welcome: w}})
	r.noteAgents()
	a.link = l // from here on it receives messages; the welcome goes first
	for _, c := range a.containers {
		r.remindAgent(a, c)
	}
	return nil
}

func (r *roster) newWelcome(who arrival) *agentv1.Welcome {
	p, _ := r.cfg.findPool(who.Pool)
	return &agentv1.Welcome{
		ClusterId: r.cfg.ClusterID, MasterId: r.cfg.MasterID, ClusterName: r.cfg.ClusterName, Version: r.cfg.Version,
		Credential: string(who.credential), AgentConfig: r.cfg.AgentConfig(who.Identity),
		ReconnectWaitUs: p.ReconnectWait.Microseconds(), Programs: who.programs, ChangeConfirms: true,
	}
}

func sortDevices(devices []*apiv1.Device) []*apiv1.Device {
	return slices.SortedFunc(slices.Values(devices), func(a, b *apiv1.Device) int { return int(a.GetId()) - int(b.GetId()) })
}

// checkArrival returns an error if an agent cannot connect now.
func (r *roster) checkArrival(h *agentv1.Hello, who Identity) error {
	a := r.agents[who.Agent]
	switch {
	case !r.running:
		return link.Retry("the master is stopping; try again")
	case a == nil:
		return nil
	case a.link != nil:
		a.link.PingSoon()
		return link.Retry("agent %s is already connected from %s; agent ids must be unique", a.id, a.address)
	case len(a.containers) > 0 && !sameDevices(a.devices, sortDevices(h.GetDevices())):
		return link.Retry("agent %s does not report the devices that its containers were started with; restore them, or wait until the containers are given up", a.id)
	case len(a.containers) > 0 && a.pool != who.Pool:
		return link.Retry("agent %s has containers of resource pool %q but now belongs to %q; wait until they are given up", a.id, a.pool, who.Pool)
	}
	return nil
}

// addAgent returns the agent, which it creates if it is unknown, or an error if it cannot connect now.
func (r *roster) addAgent(h *agentv1.Hello, who Identity) (*agent, error) {
	if err := r.checkArrival(h, who); err != nil {
		return nil, err
	}
	now, a := time.Now(), r.agents[who.Agent]
	if a == nil {
		a = newAgent(who.Agent, now)
		a.retired = r.retired[who.Agent]
		a.restoreFrom(r.switches[who.Agent])
		delete(r.switches, who.Agent)
		r.agents[a.id] = a
		return a, nil
	}
	if err := a.setState(Connected, now); err != nil {
		return nil, link.Retry("%s", err)
	}
	return a, nil
}

// reconcileContainers compares the agent's containers with the expected ones, and returns those that
// continue.
func (r *roster) reconcileContainers(a *agent, h *agentv1.Hello, next map[rm.ContainerID]uint64) []*agentv1.Known {
	var known []*agentv1.Known
	reported := make(map[rm.ContainerID]bool)
	for _, report := range h.GetContainers() {
		id := rm.ContainerID(report.GetContainerId())
		c := r.containers[id]
		if c == nil || c.agent != a.id || c.givenUp {
			continue
		}
		reported[id] = true
		r.runner.noteReceived(c)
		known = append(known, &agentv1.Known{ContainerId: string(id), LogNextSeq: next[id], Acked: c.stored})
	}
	for id, c := range a.containers {
		if !reported[id] && c.received {
			r.runner.loseContainer(c, "agent "+string(a.id)+" reconnected without the container")
		}
	}
	return known
}

// remindAgent repeats the orders that the agent may have missed. Received containers continue even under
// new restrictions; a container that the agent has not received and can no longer run is placed again.
func (r *roster) remindAgent(a *agent, c *container) {
	why := a.restrictions.refuse(needsOf(c.allocation.Request))
	switch {
	case c.givenUp:
	case c.received && c.allocation.isKilled():
		r.runner.signalKill(c)
	case c.received && c.allocation.release != nil:
		r.runner.signalTerminate(c)
	case c.received:
	case c.allocation.isKilled():
		c.sent = false // the link that may have carried the start is gone, and the start with it
		r.runner.signalKill(c)
	case why != "":
		c.sent = false
		r.runner.killAllocation(c.allocation, rm.CauseNotHere, "agent "+string(a.id)+": "+why)
	default:
		r.runner.sendStart(c)
	}
}

// disconnectAgent records that an agent's link is gone.
func (r *roster) disconnectAgent(l *link.Link) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := r.agents[l.Agent]
	if a == nil || a.link != l {
		return
	}
	a.link = nil
	r.noteAgents()
	if err := a.setState(Lost, time.Now()); err != nil {
		r.cfg.Log.Error("cannot mark agent lost", "agent_id", a.id, "err", err)
	}
	r.passes.WakeLater()
}
