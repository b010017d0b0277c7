package agentrm

import (
	"context"
	"errors"
	"regexp"
	"strings"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/internal/excerpt"
	"github.com/det-deploy/det-deploy/master/agentrm/link"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/token"
)

// admitAgent checks an agent's hello and connects it. It returns a *Refused with a sentence for the
// agent if the agent cannot be admitted.
func (c *connections) admitAgent(ctx context.Context, l *link.Link, h *agentv1.Hello) error {
	if err := c.checkHello(h); err != nil {
		return err
	}
	who, err := c.askGate(ctx, h, l.Address)
	if err != nil {
		return err
	}
	next, err := c.nextLogLines(ctx, h)
	if err != nil {
		c.cfg.Log.Warn("cannot read log positions", "agent_id", h.GetAgentId(), "err", err)
		return link.Retry("the master cannot read its store; try again")
	}
	// Check whether an agent of the name is connected before a credential is issued: a second machine of
	// the name must not invalidate the credential of the first one.
	if err := c.roster.reservePlace(l, h, who); err != nil {
		return err
	}
	credential, err := c.acceptAgent(ctx, who)
	if err == nil {
		err = c.roster.connectAgent(l, h, arrival{Identity: who, credential: credential, next: next, programs: c.programsFor(h)})
	}
	c.roster.freePlace(who.Agent)
	if err != nil {
		return err
	}
	if err := c.records.saveAgent(ctx, who.Agent); err != nil {
		c.roster.disconnectAgent(l)
		c.cfg.Log.Warn("cannot store agent", "agent_id", who.Agent, "err", err)
		return link.Retry("the master cannot write its store; try again")
	}
	c.state.passes.WakeLater()
	return nil
}

// programsFor returns the programs with which an agent may replace its own, or nil for an agent of the
// master's version. It waits for their hashes, up to a second after the master's start.
func (c *connections) programsFor(h *agentv1.Hello) map[string]string {
	if c.cfg.Programs == nil || h.GetVersion() == c.cfg.Version {
		return nil
	}
	return c.cfg.Programs()
}

// agentIDs matches ids that are valid in a URL, a label and a log line.
var agentIDs = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:-]{0,254}$`)

func (c *connections) checkHello(h *agentv1.Hello) error {
	if p := h.GetProtocol(); p < agentv1.OldestProtocol || p > agentv1.Protocol {
		return link.Final("the agent uses protocol version %d, but this master supports versions %d to %d; install an agent of the master's version (%s)",
			p, agentv1.OldestProtocol, agentv1.Protocol, c.cfg.Version)
	}
	if !agentIDs.MatchString(h.GetAgentId()) {
		return link.Final("agent id %q: must be 1 to 255 letters, digits and . _ : -, and start with a letter or digit", excerpt.Of(h.GetAgentId()))
	}
	if n := len(h.GetDevices()); n > c.cfg.Limits.Slots {
		return link.Final("agent %s reports %d devices; the maximum is %d", h.GetAgentId(), n, c.cfg.Limits.Slots)
	}
	ids, uuids := make(map[int32]bool), make(map[string]bool)
	for _, d := range h.GetDevices() {
		if d.GetId() < 0 || ids[d.GetId()] || (d.GetUuid() != "" && uuids[d.GetUuid()]) {
			return link.Final("agent %s reports device %d (%s) twice, or with a negative id", h.GetAgentId(), d.GetId(), excerpt.Of(d.GetUuid()))
		}
		ids[d.GetId()], uuids[d.GetUuid()] = true, true
	}
	return nil
}

// askGate asks the gate to admit an agent, and determines its pool.
func (c *connections) askGate(ctx context.Context, h *agentv1.Hello, address string) (Identity, error) {
	id := rm.AgentID(h.GetAgentId())
	who, err := c.cfg.Gate.Admit(ctx, JoinProof{
		Agent: id, Pool: h.GetResourcePool(), Hostname: h.GetHostname(), Address: address,
		Credential: token.Text(h.GetCredential()), JoinToken: token.Text(h.GetJoinToken()),
		Proof: cloud.Proof{Kind: h.GetProofKind(), Data: h.GetProof()},
	})
	if err != nil {
		return who, c.refusalOf(id, err)
	}
	switch {
	case who.Agent != id:
		return who, link.Final("the credential belongs to agent %s, not to %s", who.Agent, id)
	case !who.Launched && who.Pool != "" && h.GetResourcePool() != "" && who.Pool != h.GetResourcePool():
		return who, link.Final("agent %s is admitted to resource pool %q but requests %q", id, who.Pool, excerpt.Of(h.GetResourcePool()))
	}
	if who.Pool == "" {
		who.Pool = h.GetResourcePool()
	}
	if who.Pool == "" {
		who.Pool = c.cfg.DefaultCompute
	}
	p, found := c.cfg.findPool(who.Pool)
	if !found {
		return who, link.Final("there is no resource pool %q; choose one of %q", excerpt.Of(who.Pool), c.cfg.poolNames())
	}
	return who, checkLimits(h, p)
}

// checkLimits returns an error if an agent cannot enforce the limits of its pool. They do not apply to
// administrators' tasks, which are the only ones of an agent that neither isolates them nor trusts users.
func checkLimits(h *agentv1.Hello, p Pool) error {
	onlyAdmins := h.GetNotIsolated() != "" && !h.GetTrustsUsers()
	if h.GetNoLimits() == "" || len(p.Limits) == 0 || onlyAdmins {
		return nil
	}
	return link.Final("agent %s cannot enforce %s of resource pool %q: %s; remove the setting, or let the agent run tasks with limits",
		h.GetAgentId(), strings.Join(p.Limits, " and "), p.Name, excerpt.UpTo(h.GetNoLimits(), longestReason))
}

// refusalOf returns the refusal to send to an agent after an error of the gate.
func (c *connections) refusalOf(id rm.AgentID, err error) error {
	if refused, ok := errors.AsType[*link.Refused](err); ok {
		return refused
	}
	c.cfg.Log.Warn("cannot check agent credential", "agent_id", id, "err", err)
	return link.Retry("the master cannot check the agent's credential; try again")
}

// acceptAgent completes the admission of an agent whose place is reserved, and returns its credential.
func (c *connections) acceptAgent(ctx context.Context, who Identity) (token.Text, error) {
	if who.Accept == nil {
		return "", nil
	}
	credential, err := who.Accept(ctx)
	if err != nil {
		return "", c.refusalOf(who.Agent, err)
	}
	return credential, nil
}

// nextLogLines returns the next missing log line of each reported container.
func (c *connections) nextLogLines(ctx context.Context, h *agentv1.Hello) (map[rm.ContainerID]uint64, error) {
	next := make(map[rm.ContainerID]uint64)
	for _, report := range h.GetContainers() {
		known := c.state.findContainer(rm.ContainerID(report.GetContainerId()))
		if known == nil {
			continue
		}
		seq, err := c.cfg.Logs.NextSeq(ctx, known.allocation.Allocation, known.id)
		if err != nil {
			return nil, err
		}
		next[known.id] = seq
	}
	return next, nil
}
