package pool

import (
	"slices"
	"time"
)

// Decide returns the allocations to start, to preempt and to kill.
//
// Order: priority (1 first), queue position, time. Auxiliary (zero-slot) and slotted allocations do not
// compete and are decided separately.
//
// Placement: complete or nothing, on agents and slots that are enabled and not draining; on one machine
// if one has room, otherwise in equal shares on as few as possible.
//
// Overtaking: a task that does not fit does not block later tasks of the same priority. Lower priorities
// start nothing while it waits, because they could keep it waiting forever by taking each slot that is
// freed. With preemption enabled they are back-filled with preemptible tasks, whose slots can be
// reclaimed. A task that waits for something other than slots blocks no other: one over its job's
// max_slots, or one that could not fit even if the pool were empty and fully launched.
//
// So no priority starves another: freed slots go to the highest priority that waits. Within a priority,
// small tasks may overtake a large one indefinitely. With preemption it takes the slots of tasks behind
// it in the queue; without preemption the remedy is a higher priority.
//
// Promises: the slots of preempted allocations are held for the first waiting task that fits with them,
// together with the free slots that it needs, so that no further task is preempted for it and nothing is
// started that would have to stop at once.
//
// Preemption (if enabled): victims are preemptible, and of lower priority or, at the same priority, of
// another job further back in the queue. They are tried from the lowest priority and the newest;
// unneeded ones are spared, the most important first. If all of them together do not free enough, none
// is preempted.
func Decide(p Pool, now time.Time) Decision {
	d := Decision{}
	d.listDeadlines(p.Allocations, now)
	ordered := inOrder(p.Allocations)
	held := heldByJob(p.Allocations)
	inventory := p.Inventory
	if inventory == nil {
		inventory = TakeInventory(p.Agents, p.MaxAux)
	}
	for _, k := range []kind{auxiliary, slotted} {
		if hasPending(p.Allocations, k) {
			newPass(p, inventory, ordered, k).servePending(&d, held)
		}
	}
	return d
}

func hasPending(allocations []Allocation, k kind) bool {
	return slices.ContainsFunc(allocations, func(a Allocation) bool { return a.State == Pending && k.takes(a) })
}

func (d *Decision) listDeadlines(allocations []Allocation, now time.Time) {
	for _, a := range allocations {
		if a.State != Releasing || a.Deadline.IsZero() {
			continue
		}
		if !a.Deadline.After(now) {
			d.Kill = append(d.Kill, a.ID)
			continue
		}
		if d.Wake.IsZero() || a.Deadline.Before(d.Wake) {
			d.Wake = a.Deadline
		}
	}
	slices.Sort(d.Kill)
}

func heldByJob(allocations []Allocation) map[JobID]int {
	held := make(map[JobID]int)
	for _, a := range allocations {
		if a.State != Pending {
			held[a.Job] += a.Slots
		}
	}
	return held
}

// servePending serves the pending allocations in order.
func (p *pass) servePending(d *Decision, held map[JobID]int) {
	blocked := LowestPriority + 1
	for _, a := range p.pending {
		reason := p.serveAllocation(d, a, blocked, held)
		if reason == "" {
			continue
		}
		d.Waiting = append(d.Waiting, Waiting{Allocation: a.ID, Reason: reason})
		if reason == ForSlots || reason == ForRelease {
			blocked = min(blocked, a.Priority)
		}
	}
}

// serveAllocation places a or promises it slots. If a has to wait, it returns the reason.
func (p *pass) serveAllocation(d *Decision, a *Allocation, blocked int, held map[JobID]int) Reason {
	if a.MaxSlots > 0 && held[a.Job]+a.Slots > a.MaxSlots {
		return ForJobLimit
	}
	if a.Priority > blocked && (!p.scheduler.Preemption || !a.Preemptible) {
		return ForPriority
	}
	r := p.placeRequest(a)
	if placement, fits := p.startOne(r); fits {
		held[a.Job] += a.Slots
		d.Start = append(d.Start, Start{Allocation: a.ID, Placement: placement})
		return ""
	}
	if p.promiseSlots(r) {
		held[a.Job] += a.Slots
		return ForRelease
	}
	for _, victim := range p.findVictims(a, r) {
		d.Preempt = append(d.Preempt, Preempt{Allocation: victim, For: a.ID})
	}
	if p.promiseSlots(r) {
		held[a.Job] += a.Slots
		return ForRelease
	}
	switch {
	case p.machines == 0:
		return ForAgents
	case !p.couldFit(r):
		return ForCapacity
	}
	return ForSlots
}
