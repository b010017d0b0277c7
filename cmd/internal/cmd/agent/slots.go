package agent

import (
	"context"
	"maps"
	"slices"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/show"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// slot is a slot of an agent.
type slot struct {
	agent *apiv1.Agent
	*apiv1.Slot
}

func slotList() command.List[*listOptions, slot] {
	return command.List[*listOptions, slot]{
		Fetch: fetchSlots,
		Reply: replySlots,
		Columns: []command.Column[slot]{
			{Head: "AGENT", Value: func(s slot) any { return s.agent.GetId() }},
			{Head: "SLOT", Value: func(s slot) any { return s.GetId() }},
			{Head: "STATE", Rank: 1, Value: func(s slot) any { return slotState(s.Slot) }},
			{Head: "DEVICE", Rank: 3, Shortest: 12, Value: func(s slot) any { return s.GetDevice().GetBrand() }},
			{Head: "CONTAINER", Rank: 2, Value: func(s slot) any { return term.ID(s.GetContainer().GetId()) }},
		},
		Name:   func(s slot) string { return s.agent.GetId() + "/" + s.GetId() },
		Object: slotObject,
		None:   "No slots are connected.",
	}
}

func fetchSlots(ctx context.Context, o *listOptions, master *client.Client) ([]slot, error) {
	agents, err := fetchAgents(ctx, o, master)
	var slots []slot
	for _, a := range agents {
		for _, key := range slices.Sorted(maps.Keys(a.GetSlots())) {
			slots = append(slots, slot{a, a.GetSlots()[key]})
		}
	}
	return slots, err
}

// slotObject returns a slot with its agent as JSON.
func slotObject(s slot) (any, error) {
	object, err := show.Object(s.Slot)
	if err == nil {
		object["agentId"] = s.agent.GetId()
	}
	return object, err
}

// replySlots returns the agents of the slots.
func replySlots(slots []slot) any {
	reply := &apiv1.GetAgentsResponse{}
	for _, s := range slots {
		if n := len(reply.Agents); n == 0 || reply.Agents[n-1] != s.agent {
			reply.Agents = append(reply.Agents, s.agent)
		}
	}
	return reply
}
