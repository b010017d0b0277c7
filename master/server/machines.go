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

func byAgentID(a, b *apiv1.Agent) int { return strings.Compare(a.GetId(), b.GetId()) }

var agentOrder = map[string]func(a, b *apiv1.Agent) int{
	"":           byAgentID,
	"SORT_BY_ID": byAgentID,
	"SORT_BY_TIME": func(a, b *apiv1.Agent) int {
		return a.GetRegisteredTime().AsTime().Compare(b.GetRegisteredTime().AsTime())
	},
}

func (s *Server) agents(c *call) (*apiv1.GetAgentsResponse, error) {
	list := slices.Clone(s.cfg.Machines.Agents())
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

func (s *Server) findAgent(id string) (*apiv1.Agent, error) {
	for _, a := range s.cfg.Machines.Agents() {
		if a.GetId() == id {
			return a, nil
		}
	}
	return nil, status.Missing("agent", id)
}

func (s *Server) agent(c *call) (*apiv1.GetAgentResponse, error) {
	a, err := s.findAgent(c.PathValue("agent"))
	return &apiv1.GetAgentResponse{Agent: a}, err
}

func (s *Server) setAgent(c *call, to rm.Switch) (*apiv1.Agent, error) {
	c.did(c.PathValue("agent"), string(to))
	if _, err := s.findAgent(c.PathValue("agent")); err != nil {
		return nil, err
	}
	return s.cfg.Machines.SetAgent(c.Context(), rm.AgentID(c.PathValue("agent")), to)
}

func (s *Server) enableAgent(c *call) (*apiv1.EnableAgentResponse, error) {
	a, err := s.setAgent(c, rm.Enable)
	return &apiv1.EnableAgentResponse{Agent: a}, err
}

func off(drain bool) rm.Switch {
	if drain {
		return rm.Drain
	}
	return rm.Disable
}

func (s *Server) disableAgent(c *call, in *apiv1.DisableAgentRequest) (*apiv1.DisableAgentResponse, error) {
	a, err := s.setAgent(c, off(in.GetDrain()))
	return &apiv1.DisableAgentResponse{Agent: a}, err
}

func (s *Server) slots(c *call) (*apiv1.GetSlotsResponse, error) {
	a, err := s.findAgent(c.PathValue("agent"))
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

func (s *Server) findSlot(c *call) (*apiv1.Slot, int, error) {
	a, err := s.findAgent(c.PathValue("agent"))
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

func (s *Server) slot(c *call) (*apiv1.GetSlotResponse, error) {
	slot, _, err := s.findSlot(c)
	return &apiv1.GetSlotResponse{Slot: slot}, err
}

func (s *Server) setSlot(c *call, to rm.Switch) (*apiv1.Slot, error) {
	c.did(c.PathValue("agent")+"/"+c.PathValue("slot"), string(to))
	_, n, err := s.findSlot(c)
	if err != nil {
		return nil, err
	}
	return s.cfg.Machines.SetSlot(c.Context(), rm.AgentID(c.PathValue("agent")), n, to)
}

func (s *Server) enableSlot(c *call) (*apiv1.EnableSlotResponse, error) {
	slot, err := s.setSlot(c, rm.Enable)
	return &apiv1.EnableSlotResponse{Slot: slot}, err
}

func (s *Server) disableSlot(c *call, in *apiv1.DisableSlotRequest) (*apiv1.DisableSlotResponse, error) {
	slot, err := s.setSlot(c, off(in.GetDrain()))
	return &apiv1.DisableSlotResponse{Slot: slot}, err
}
