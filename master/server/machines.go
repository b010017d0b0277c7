package server

import (
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
)

// machineCalls is agents and their slots.
type machineCalls struct{ *shared }

func (m *machineCalls) routes() []route {
	if m.cfg.Machines == nil {
		return nil
	}
	return []route{
		get("agents", user, plain(m.agents)),
		get("agents/{agent}", user, plain(m.agent)),
		audited("agent.enable", post("agents/{agent}/enable", admin, plain(m.enableAgent))),
		audited("agent.disable", post("agents/{agent}/disable", admin, unary(m.disableAgent))),
		get("agents/{agent}/slots", user, plain(m.slots)),
		get("agents/{agent}/slots/{slot}", user, plain(m.slot)),
		audited("slot.enable", post("agents/{agent}/slots/{slot}/enable", admin, plain(m.enableSlot))),
		audited("slot.disable", post("agents/{agent}/slots/{slot}/disable", admin, unary(m.disableSlot))),
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
	list := slices.Clone(m.cfg.Machines.Agents())
	sortList(c, list, agentOrder)
	part, p := page(c, list)
	noSlots, noContainers := c.is("excludeSlots"), c.is("excludeContainers")
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
	return &apiv1.GetAgentsResponse{Agents: part, Pagination: p}, c.bad
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
	c.did(c.PathValue("agent"), string(to))
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
	c.did(c.PathValue("agent")+"/"+c.PathValue("slot"), string(to))
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
