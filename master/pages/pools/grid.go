package pools

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// machine is a machine with the picture of its slots.
type machine struct {
	ID, Path, State string
	// Trouble is why it does not work.
	Trouble string
	Slots   []square
	Busy    int
	// Others is the number of its containers without slots.
	Others int
}

// square is a slot in a picture.
type square struct {
	// State is free, busy, draining, disabled or lost.
	State string
	// Title names the slot and its task.
	Title string
	X, Y  int
}

const (
	// perRow is the number of squares of a row, and step the distance between them in pixels.
	perRow = 16
	step   = 18
)

// newMachine returns the picture of an agent.
func newMachine(a *apiv1.Agent) machine {
	m := machine{ID: a.GetId(), Path: agentPath(a.GetId()), State: stateOf(a)}
	if a.GetSick() != nil {
		m.Trouble = a.GetSick().GetReason()
	}
	holders := map[string]bool{}
	for i, key := range slices.Sorted(maps.Keys(a.GetSlots())) {
		s := a.GetSlots()[key]
		state := slotState(a, s)
		title := fmt.Sprintf("Slot %s: %s", s.GetId(), state)
		if c := s.GetContainer(); c != nil {
			m.Busy++
			holders[c.GetId()] = true
			title += ", task " + taskOf(c.GetParent())
		}
		m.Slots = append(m.Slots, square{State: state, Title: title, X: i % perRow * step, Y: i / perRow * step})
	}
	for _, c := range a.GetContainers() {
		if !holders[c.GetId()] {
			m.Others++
		}
	}
	return m
}

// Width and Height are the size of the picture in pixels.
func (m machine) Width() int  { return min(len(m.Slots), perRow) * step }
func (m machine) Height() int { return (len(m.Slots) + perRow - 1) / perRow * step }

// Alt is the text of the picture.
func (m machine) Alt() string { return fmt.Sprintf("%d of %d slots in use", m.Busy, len(m.Slots)) }

// stateOf returns the state of an agent in a word.
func stateOf(a *apiv1.Agent) string {
	switch {
	case a.GetLost():
		return "lost"
	case a.GetSick() != nil:
		return "sick"
	case a.GetDraining():
		return "draining"
	case !a.GetEnabled():
		return "disabled"
	}
	return "enabled"
}

func slotState(a *apiv1.Agent, s *apiv1.Slot) string {
	switch {
	case a.GetLost():
		return "lost"
	case s.GetContainer() != nil && (s.GetDraining() || !s.GetEnabled()):
		return "draining"
	case s.GetContainer() != nil:
		return "busy"
	case s.GetDraining(), !s.GetEnabled():
		return "disabled"
	}
	return "free"
}

// taskOf returns the task of an allocation.
func taskOf(allocation string) string {
	if i := strings.LastIndexByte(allocation, '.'); i >= 0 {
		return allocation[:i]
	}
	return allocation
}

// machinesOf returns the machines of a pool, those that do not work first.
func machinesOf(pool string, agents []*apiv1.Agent) []machine {
	var out []machine
	for _, a := range agents {
		if slices.Contains(a.GetResourcePools(), pool) {
			out = append(out, newMachine(a))
		}
	}
	slices.SortStableFunc(out, func(a, b machine) int { return cmp.Or(rank(a.State)-rank(b.State), cmp.Compare(a.ID, b.ID)) })
	return out
}

func rank(state string) int {
	return slices.Index([]string{"lost", "sick", "draining", "disabled", "enabled"}, state)
}
