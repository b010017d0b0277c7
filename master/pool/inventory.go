package pool

import (
	"cmp"
	"slices"
)

// Inventory is the capacity of a pool's agents with nothing running on them. It is immutable and may be
// reused for any number of decisions until the agents change.
type Inventory struct {
	agents []Agent // by id
	index  map[AgentID]int
	// slots are the usable slots of each agent, in ascending order.
	slots [][]int
	// machines is the number of usable agents.
	machines int
	// sizes is the number of units of each agent, slots or auxiliary places; capacity counts the agents
	// by that number.
	sizes    map[kind][]int
	capacity map[kind]histogram
}

// TakeInventory returns the inventory of a pool's agents with places for maxAux zero-slot
// containers each.
func TakeInventory(agents []Agent, maxAux int) *Inventory {
	byID := func(a, b Agent) int { return cmp.Compare(a.ID, b.ID) }
	if !slices.IsSortedFunc(agents, byID) {
		agents = slices.SortedFunc(slices.Values(agents), byID)
	}
	n := &Inventory{
		agents: agents, index: make(map[AgentID]int, len(agents)), slots: make([][]int, len(agents)),
		sizes:    map[kind][]int{slotted: make([]int, len(agents)), auxiliary: make([]int, len(agents))},
		capacity: map[kind]histogram{},
	}
	for i, a := range agents {
		n.index[a.ID] = i
		n.slots[i] = usableSlots(a)
		n.sizes[slotted][i] = len(n.slots[i])
		if a.Enabled && !a.Draining {
			n.machines++
			n.sizes[auxiliary][i] = max(maxAux, 0)
		}
	}
	for k, sizes := range n.sizes {
		h := histogram(nil)
		for _, units := range sizes {
			h.addCount(units, 1)
		}
		n.capacity[k] = h
	}
	return n
}

// usableSlots returns the slots of an agent that may be given to tasks, in ascending order.
func usableSlots(a Agent) []int {
	if !a.Enabled || a.Draining {
		return nil
	}
	ids := make([]int, 0, len(a.Slots))
	for _, s := range a.Slots {
		if s.Enabled && !s.Draining {
			ids = append(ids, s.ID)
		}
	}
	slices.Sort(ids)
	return ids
}
