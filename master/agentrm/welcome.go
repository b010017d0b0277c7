package agentrm

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/excerpt"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/token"
)

// welcome checks an agent's hello and takes it in. The error is a *Refused with
// a sentence for the agent.
func (r *RM) welcome(ctx context.Context, l *link, h *agentv1.Hello) error {
	if err := r.checkHello(h); err != nil {
		return err
	}
	who, err := r.admit(ctx, h, l.address)
	if err != nil {
		return err
	}
	next, err := r.nextSeqs(ctx, h)
	if err != nil {
		r.cfg.Log.Warn("read log positions", "agent_id", h.GetAgentId(), "err", err)
		return refusef("the master cannot read its store; try again")
	}
	// Who is connected is looked at before anything is given out: a second machine
	// of the name must not cost the first one its credential.
	if err := r.reserve(l, h, who); err != nil {
		return err
	}
	credential, err := r.accept(ctx, who)
	if err == nil {
		err = r.takeIn(l, h, arrival{Identity: who, credential: credential, next: next})
	}
	r.unreserve(who.Agent)
	if err != nil {
		return err
	}
	if err := r.saveAgent(ctx, who.Agent); err != nil {
		r.part(l)
		r.cfg.Log.Warn("store agent", "agent_id", who.Agent, "err", err)
		return refusef("the master cannot write its store; try again")
	}
	r.stir()
	return nil
}

// agentIDs are what fits into a URL, a label and a log line.
var agentIDs = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:-]{0,254}$`)

func (r *RM) checkHello(h *agentv1.Hello) error {
	if p := h.GetProtocol(); p < agentv1.OldestProtocol || p > agentv1.Protocol {
		return refuseForGoodf("the agent speaks version %d of the link and this master versions %d to %d; install an agent of the master's version (%s)",
			p, agentv1.OldestProtocol, agentv1.Protocol, r.cfg.Version)
	}
	if !agentIDs.MatchString(h.GetAgentId()) {
		return refuseForGoodf("agent id %q: must be 1 to 255 letters, digits and . _ : -, and start with a letter or digit", excerpt.Of(h.GetAgentId()))
	}
	if n := len(h.GetDevices()); n > r.cfg.Limits.Slots {
		return refuseForGoodf("agent %s reports %d devices; at most %d are believed", h.GetAgentId(), n, r.cfg.Limits.Slots)
	}
	ids, uuids := make(map[int32]bool), make(map[string]bool)
	for _, d := range h.GetDevices() {
		if d.GetId() < 0 || ids[d.GetId()] || (d.GetUuid() != "" && uuids[d.GetUuid()]) {
			return refuseForGoodf("agent %s reports device %d (%s) twice, or with a negative id", h.GetAgentId(), d.GetId(), excerpt.Of(d.GetUuid()))
		}
		ids[d.GetId()], uuids[d.GetUuid()] = true, true
	}
	return nil
}

// admit asks the gate, and settles the pool.
func (r *RM) admit(ctx context.Context, h *agentv1.Hello, address string) (Identity, error) {
	id := rm.AgentID(h.GetAgentId())
	who, err := r.cfg.Gate.Admit(ctx, JoinProof{
		Agent: id, Pool: h.GetResourcePool(), Hostname: h.GetHostname(), Address: address,
		Credential: token.Text(h.GetCredential()), JoinToken: token.Text(h.GetJoinToken()),
		Proof: cloud.Proof{Kind: h.GetProofKind(), Data: h.GetProof()},
	})
	if err != nil {
		return who, r.refusalOf(id, err)
	}
	switch {
	case who.Agent != id:
		return who, refuseForGoodf("the credential belongs to agent %s, not to %s", who.Agent, id)
	case !who.Launched && who.Pool != "" && h.GetResourcePool() != "" && who.Pool != h.GetResourcePool():
		return who, refuseForGoodf("agent %s is admitted to resource pool %q and asks for %q", id, who.Pool, excerpt.Of(h.GetResourcePool()))
	}
	if who.Pool == "" {
		who.Pool = h.GetResourcePool()
	}
	if who.Pool == "" {
		who.Pool = r.cfg.DefaultCompute
	}
	if _, found := r.cfg.pool(who.Pool); !found {
		return who, refuseForGoodf("there is no resource pool %q; there are %q", excerpt.Of(who.Pool), r.cfg.poolNames())
	}
	return who, nil
}

// refusalOf is what an agent is told of an error of the gate.
func (r *RM) refusalOf(id rm.AgentID, err error) error {
	if refused, ok := errors.AsType[*Refused](err); ok {
		return refused
	}
	r.cfg.Log.Warn("admit agent", "agent_id", id, "err", err)
	return refusef("the master cannot check the agent's credential; try again")
}

// accept lets in an agent that has its place.
func (r *RM) accept(ctx context.Context, who Identity) (token.Text, error) {
	if who.Accept == nil {
		return "", nil
	}
	credential, err := who.Accept(ctx)
	if err != nil {
		return "", r.refusalOf(who.Agent, err)
	}
	return credential, nil
}

// reserve keeps the place of an agent that is about to come in.
func (r *RM) reserve(l *link, h *agentv1.Hello, who Identity) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.mayArrive(h, who); err != nil {
		return err
	}
	if r.arriving[who.Agent] {
		return refusef("agent %s is connecting from another place at this moment; an agent id must be used once", who.Agent)
	}
	r.arriving[who.Agent] = true
	l.agent = who.Agent // for the log
	return nil
}

func (r *RM) unreserve(id rm.AgentID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.arriving, id)
}

// arrival is an agent that comes in.
type arrival struct {
	Identity
	credential token.Text
	next       map[rm.ContainerID]uint64 // which log line of each container comes next
}

// nextSeqs looks up which log lines of the reported containers are stored.
func (r *RM) nextSeqs(ctx context.Context, h *agentv1.Hello) (map[rm.ContainerID]uint64, error) {
	next := make(map[rm.ContainerID]uint64)
	for _, report := range h.GetContainers() {
		c := r.containerOf(rm.ContainerID(report.GetContainerId()))
		if c == nil {
			continue
		}
		seq, err := r.cfg.Logs.NextSeq(ctx, c.allocation.Allocation, c.id)
		if err != nil {
			return nil, err
		}
		next[c.id] = seq
	}
	return next, nil
}

func (r *RM) containerOf(id rm.ContainerID) *container {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.containers[id]
}

// takeIn makes the agent connected and queues all that it has to hear.
func (r *RM) takeIn(l *link, h *agentv1.Hello, who arrival) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.arriving[who.Agent] {
		return refusef("agent %s was revoked while it connected; try again", who.Agent)
	}
	a, err := r.arrive(h, who.Identity)
	if err != nil {
		return err
	}
	a.address, a.own, l.agent = l.address, ownAddress(h.GetAddress()), a.id
	a.version, a.devices, a.pool = h.GetVersion(), sorted(h.GetDevices()), who.Pool
	r.setSickness(a, sicknessOf(h.GetHealth()))
	known := r.reconcile(a, h, who.next)
	w := r.welcomeFor(who.Identity, who.credential)
	w.Containers = known
	l.send(&agentv1.MasterMessage{Body: &agentv1.MasterMessage_Welcome{Welcome: w}})
	a.link = l // from here on it is sent things; the welcome goes first
	for _, c := range a.containers {
		r.remind(c)
	}
	return nil
}

func (r *RM) welcomeFor(who Identity, credential token.Text) *agentv1.Welcome {
	p, _ := r.cfg.pool(who.Pool)
	return &agentv1.Welcome{
		ClusterId: r.cfg.ClusterID, MasterId: r.cfg.MasterID, ClusterName: r.cfg.ClusterName, Version: r.cfg.Version,
		Credential: string(credential), AgentConfig: r.cfg.AgentConfig(who),
		ReconnectWaitUs: p.ReconnectWait.Microseconds(), Programs: r.cfg.Programs,
	}
}

func sorted(devices []*apiv1.Device) []*apiv1.Device {
	return slices.SortedFunc(slices.Values(devices), func(a, b *apiv1.Device) int { return int(a.GetId()) - int(b.GetId()) })
}

// mayArrive says what keeps an agent from coming in now.
func (r *RM) mayArrive(h *agentv1.Hello, who Identity) error {
	a := r.agents[who.Agent]
	switch {
	case !r.running:
		return refusef("the master stops; try again")
	case a == nil:
		return nil
	case a.link != nil:
		a.link.try()
		return refusef("agent %s is already connected from %s; an agent id must be used once", a.id, a.address)
	case len(a.containers) > 0 && !sameDevices(a.devices, sorted(h.GetDevices())):
		return refusef("agent %s reports other devices than those its containers were started with; bring them back, or wait until the containers are given up", a.id)
	case len(a.containers) > 0 && a.pool != who.Pool:
		return refusef("agent %s has containers of resource pool %q and now belongs to %q; wait until they are given up", a.id, a.pool, who.Pool)
	}
	return nil
}

// arrive finds or makes the agent, unless it must not come in.
func (r *RM) arrive(h *agentv1.Hello, who Identity) (*agent, error) {
	if err := r.mayArrive(h, who); err != nil {
		return nil, err
	}
	now, a := time.Now(), r.agents[who.Agent]
	if a == nil {
		a = newAgent(who.Agent, now)
		a.retired = r.retired[who.Agent]
		a.restore(r.switches[who.Agent])
		delete(r.switches, who.Agent)
		r.agents[a.id] = a
		return a, nil
	}
	if err := a.transition(Connected, now); err != nil {
		return nil, refusef("%s", err)
	}
	return a, nil
}

// reconcile compares what the agent has with what it should have, and says
// which of its containers go on.
func (r *RM) reconcile(a *agent, h *agentv1.Hello, next map[rm.ContainerID]uint64) []*agentv1.Known {
	var known []*agentv1.Known
	reported := make(map[rm.ContainerID]bool)
	for _, report := range h.GetContainers() {
		id := rm.ContainerID(report.GetContainerId())
		c := r.containers[id]
		if c == nil || c.agent != a.id || c.givenUp {
			continue
		}
		reported[id] = true
		c.has()
		known = append(known, &agentv1.Known{ContainerId: string(id), LogNextSeq: next[id], Acked: c.stored})
	}
	for id, c := range a.containers {
		if !reported[id] && c.received {
			r.loseContainer(c, "agent "+string(a.id)+" came back without the container")
		}
	}
	return known
}

// remind says again what the agent may have missed.
func (r *RM) remind(c *container) {
	switch {
	case c.givenUp:
	case c.received && c.allocation.killed():
		r.signalKill(c)
	case c.received && c.allocation.release != nil:
		r.signalTerminate(c)
	case c.received:
	case c.allocation.killed():
		c.sent = false // the link that may have carried the start is gone, and the start with it
		r.signalKill(c)
	default:
		r.sendStart(c)
	}
}

// part notes that an agent's link is gone.
func (r *RM) part(l *link) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := r.agents[l.agent]
	if a == nil || a.link != l {
		return
	}
	a.link = nil
	if err := a.transition(Lost, time.Now()); err != nil {
		r.cfg.Log.Error("lose agent", "agent_id", a.id, "err", err)
	}
	r.stir()
}
