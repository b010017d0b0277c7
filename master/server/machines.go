package server

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/server/query"
)

// machineCalls serves the calls about agents and their slots.
type machineCalls struct{ *shared }

func (m *machineCalls) routes() []route {
	if m.cfg.Machines == nil {
		return nil
	}
	return []route{
		getRoute("agents", user, plainCall(m.agents)),
		getRoute("agents/{agent}", user, plainCall(m.agent)),
		auditedRoute("agent.enable", postRoute("agents/{agent}/enable", admin, plainCall(m.enableAgent))),
		auditedRoute("agent.disable", postRoute("agents/{agent}/disable", admin, unaryCall(m.disableAgent))),
		getRoute("agents/{agent}/slots", user, plainCall(m.slots)),
		getRoute("agents/{agent}/slots/{slot}", user, plainCall(m.slot)),
		auditedRoute("slot.enable", postRoute("agents/{agent}/slots/{slot}/enable", admin, plainCall(m.enableSlot))),
		auditedRoute("slot.disable", postRoute("agents/{agent}/slots/{slot}/disable", admin, unaryCall(m.disableSlot))),
	}
}

func byAgentID(a, b *apiv1.Agent) int { return strings.Compare(a.GetId(), b.GetId()) }

var agentOrder = map[string]func(a, b *apiv1.Agent) int{
	"":           byAgentID,
	"SORT_BY_ID": byAgentID,
	"SORT_BY_TIME": func(a, b *apiv1.Agent) int {
		return a.GetRegisteredTime().AsTime().Compare(b.GetRegisteredTime().AsTime())
	},
}

func (m *machineCalls) agents(c *call) (*apiv1.GetAgentsResponse, error) {
	params := c.query()
	list := slices.Clone(m.cfg.Machines.Agents())
	query.Sort(params, list, agentOrder)
	part, p := query.Cut(params, list)
	noSlots, noContainers := params.IsSet("excludeSlots"), params.IsSet("excludeContainers")
	if noSlots || noContainers {
		part = slices.Clone(part)
		for i, a := range part {
			part[i] = proto.CloneOf(a)
			if noSlots {
				part[i].Slots = nil
			}
			if noContainers {
				part[i].Containers = nil
			}
		}
	}
	return &apiv1.GetAgentsResponse{Agents: part, Pagination: p}, params.Err()
}

func (m *machineCalls) findAgent(id string) (*apiv1.Agent, error) {
	for _, a := range m.cfg.Machines.Agents() {
		if a.GetId() == id {
			return a, nil
		}
	}
	return nil, status.Missing("agent", id)
}

func (m *machineCalls) agent(c *call) (*apiv1.GetAgentResponse, error) {
	a, err := m.findAgent(c.PathValue("agent"))
	return &apiv1.GetAgentResponse{Agent: a}, err
}

func (m *machineCalls) switchAgent(c *call, to rm.Switch) (*apiv1.Agent, error) {
	c.noteTarget(c.PathValue("agent"), string(to))
	if _, err := m.findAgent(c.PathValue("agent")); err != nil {
		return nil, err
	}
	return m.cfg.Machines.SetAgent(c.Context(), rm.AgentID(c.PathValue("agent")), to)
}

func (m *machineCalls) enableAgent(c *call) (*apiv1.EnableAgentResponse, error) {
	a, err := m.switchAgent(c, rm.Enable)
	return &apiv1.EnableAgentResponse{Agent: a}, err
}

func off(drain bool) rm.Switch {
	if drain {
		return rm.Drain
	}
	return rm.Disable
}

func (m *machineCalls) disableAgent(c *call, in *apiv1.DisableAgentRequest) (*apiv1.DisableAgentResponse, error) {
	a, err := m.switchAgent(c, off(in.GetDrain()))
	return &apiv1.DisableAgentResponse{Agent: a}, err
}

func (m *machineCalls) slots(c *call) (*apiv1.GetSlotsResponse, error) {
	a, err := m.findAgent(c.PathValue("agent"))
	if err != nil {
		return nil, err
	}
	out := &apiv1.GetSlotsResponse{}
	for _, slot := range a.GetSlots() {
		out.Slots = append(out.Slots, slot)
	}
	slices.SortFunc(out.GetSlots(), func(a, b *apiv1.Slot) int { return slotNumber(a.GetId()) - slotNumber(b.GetId()) })
	return out, nil
}

// slotNumber parses "3" and "003", the two formats used by clients.
func slotNumber(id string) int {
	n, err := strconv.Atoi(id)
	if err != nil {
		return -1
	}
	return n
}

func (m *machineCalls) findSlot(c *call) (*apiv1.Slot, int, error) {
	a, err := m.findAgent(c.PathValue("agent"))
	if err != nil {
		return nil, 0, err
	}
	n := slotNumber(c.PathValue("slot"))
	for _, slot := range a.GetSlots() {
		if n >= 0 && slotNumber(slot.GetId()) == n {
			return slot, n, nil
		}
	}
	return nil, 0, status.Missing("slot", c.PathValue("slot"))
}

func (m *machineCalls) slot(c *call) (*apiv1.GetSlotResponse, error) {
	slot, _, err := m.findSlot(c)
	return &apiv1.GetSlotResponse{Slot: slot}, err
}

func (m *machineCalls) switchSlot(c *call, to rm.Switch) (*apiv1.Slot, error) {
	c.noteTarget(c.PathValue("agent")+"/"+c.PathValue("slot"), string(to))
	_, n, err := m.findSlot(c)
	if err != nil {
		return nil, err
	}
	return m.cfg.Machines.SetSlot(c.Context(), rm.AgentID(c.PathValue("agent")), n, to)
}

func (m *machineCalls) enableSlot(c *call) (*apiv1.EnableSlotResponse, error) {
	slot, err := m.switchSlot(c, rm.Enable)
	return &apiv1.EnableSlotResponse{Slot: slot}, err
}

func (m *machineCalls) disableSlot(c *call, in *apiv1.DisableSlotRequest) (*apiv1.DisableSlotResponse, error) {
	slot, err := m.switchSlot(c, off(in.GetDrain()))
	return &apiv1.DisableSlotResponse{Slot: slot}, err
}

// admissionCalls serves the calls that control which machines may join as agents. They are extensions of
// det-deploy; Determined 0.38.1 admits any agent.
type admissionCalls struct{ *shared }

func (a *admissionCalls) routes() []route {
	if a.cfg.Admissions == nil {
		return nil
	}
	return []route{
		auditedRoute("agent.revoke", postRoute("agents/{agent}/revoke", admin, plainCall(a.revoke))),
		auditedRoute("agent.admit", postRoute("agents/{agent}/admit", admin, plainCall(a.readmit))),
		getRoute("revoked-agents", admin, plainCall(a.revokedAgents)),
		getRoute("join-tokens", admin, plainCall(a.joinTokens)),
		auditedRoute("join_token.create", postRoute("join-tokens", admin, unaryCall(a.createJoinToken))),
		auditedRoute("join_token.revoke", route{method: http.MethodPost, path: "join-tokens/revoke", access: admin, endpoint: unaryCall(a.revokeJoinToken)}),
		auditedRoute("keys.rotate", postRoute("master/rotate-keys", admin, plainCall(a.rotateKeys))),
	}
}

func (a *admissionCalls) revoke(c *call) (*emptypb.Empty, error) {
	a.cfg.Log.Warn("revoked agent", "agent_id", c.PathValue("agent"), "user", c.user.GetUsername())
	return &emptypb.Empty{}, a.cfg.Admissions.Revoke(c.Context(), c.PathValue("agent"), c.user.GetUsername())
}

func (a *admissionCalls) readmit(c *call) (*emptypb.Empty, error) {
	a.cfg.Log.Warn("readmitted agent", "agent_id", c.PathValue("agent"), "user", c.user.GetUsername())
	return &emptypb.Empty{}, a.cfg.Admissions.Readmit(c.Context(), c.PathValue("agent"))
}

func (a *admissionCalls) revokedAgents(*call) (*apiv1.GetRevokedAgentsResponse, error) {
	return &apiv1.GetRevokedAgentsResponse{Agents: a.cfg.Admissions.Revoked()}, nil
}

func (a *admissionCalls) joinTokens(*call) (*apiv1.GetJoinTokensResponse, error) {
	return &apiv1.GetJoinTokensResponse{JoinTokens: a.cfg.Admissions.JoinTokens()}, nil
}

// maxJoinLife is the maximum lifetime of a join token.
const maxJoinLife = 10 * 365 * 24 * time.Hour

func (a *admissionCalls) createJoinToken(c *call, in *apiv1.CreateJoinTokenRequest) (*apiv1.CreateJoinTokenResponse, error) {
	if n := in.GetValidForSeconds(); n <= 0 || n > int64(maxJoinLife/time.Second) {
		return nil, status.New(status.InvalidArgument, "valid_for_seconds: must be 1 to %d (is %d)", int64(maxJoinLife/time.Second), n)
	}
	if a.cfg.Queue != nil && !a.hasPool(in.GetResourcePool()) {
		return nil, status.Missing("resource pool", in.GetResourcePool())
	}
	out, err := a.cfg.Admissions.CreateJoinToken(c.Context(), in, c.user.GetUsername())
	c.noteTarget(out.GetJoinToken().GetId(), "for resource pool", in.GetResourcePool())
	if err == nil {
		a.cfg.Log.Info("created join token", "token_id", out.GetJoinToken().GetId(), "pool", in.GetResourcePool(), "uses", in.GetUses(), "user", c.user.GetUsername())
	}
	return out, err
}

func (a *admissionCalls) hasPool(name string) bool {
	for _, p := range a.cfg.Queue.PoolSettings() {
		if p.Name == name {
			return true
		}
	}
	return false
}

func (a *admissionCalls) revokeJoinToken(c *call, in *apiv1.RevokeJoinTokenRequest) (*apiv1.RevokeJoinTokenResponse, error) {
	j, err := a.cfg.Admissions.RevokeJoinToken(c.Context(), in.GetToken(), c.user.GetUsername())
	c.noteTarget(j.GetId())
	if err == nil {
		a.cfg.Log.Warn("revoked join token", "token_id", j.GetId(), "user", c.user.GetUsername())
	}
	return &apiv1.RevokeJoinTokenResponse{JoinToken: j}, err
}

func (a *admissionCalls) rotateKeys(c *call) (*emptypb.Empty, error) {
	a.cfg.Log.Warn("rotating the key of join tokens and credentials", "user", c.user.GetUsername())
	return &emptypb.Empty{}, a.cfg.Admissions.RotateKeys(c.Context())
}
