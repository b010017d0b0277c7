package pool

import (
	"cmp"
	"slices"
)

// Inventory is what the agents of a pool could give if nothing ran on them. It is never changed: it
// may be kept for as long as the agents are as they were, for as many decisions as there are.
type Inventory struct {
	agents []Agent // by id
	index  map[AgentID]int
	// slots are those of each agent that may be given to tasks, in ascending order.
	slots [][]int
	// machines are the agents that may be given something.
	machines int
	// sizes is how many units each agent has, slots or auxiliary places, and capacity counts them.
	sizes    map[kind][]int
	capacity map[kind]histogram
}

// TakeInventory looks at the agents of a pool, each of which may run maxAux zero-slot containers.
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

// usableSlots lists the slots of an agent that may be given to tasks.
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
