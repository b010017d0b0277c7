package server

import (
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/server/query"
)

// machineCalls is agents and their slots.
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

// slotNumber reads "3" and "003", the ways in which clients name a slot.
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
