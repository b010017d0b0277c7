// Package pool decides which waiting tasks start on which machines, and which
// running ones have to make room for them. It is pure: the same pool, queue and
// clock always give the same answer, so every rule has a row in a table test
// and none needs a machine.
package pool

import "time"

// AgentID names one machine of a pool.
type AgentID string

// AllocationID names one attempt to run a task: what is placed as a whole.
type AllocationID string

// JobID names the job whose queue position and slot limit an allocation shares.
type JobID string

// Fitting says which of several machines with enough room is taken.
type Fitting string

const (
	// Best takes the machine that is left with the least room, so that whole
	// machines stay free for large tasks and for being given back.
	Best Fitting = "best"
	// Worst takes the machine with the most room, so that tasks spread.
	Worst Fitting = "worst"
)

// Scheduler is how a pool shares its machines.
type Scheduler struct {
	// Preemption lets a task that waits push out less important ones.
	Preemption bool
	Fitting    Fitting
	// DefaultPriority belongs to jobs that ask for none; 1 is served first and
	// 99 last.
	DefaultPriority int
}

// The limits of a priority, and the priority of a job that names none.
const (
	HighestPriority = 1
	LowestPriority  = 99
	DefaultPriority = 42
)

// Pool is everything a decision looks at.
type Pool struct {
	Scheduler Scheduler
	// MaxAux is how many zero-slot containers one agent may run at a time; 0
	// keeps the pool free of them.
	MaxAux      int
	Agents      []Agent
	Allocations []Allocation
	// Inventory is what TakeInventory makes of Agents and MaxAux, for callers that keep it; nil has it
	// made.
	Inventory *Inventory
	// Room is what may still be launched for the pool. It is not used to place
	// anything; a task that fits only with it waits instead of being passed over.
	Room []Shape
}

// Agent is one machine of the pool, as far as placing is concerned.
type Agent struct {
	ID AgentID
	// Enabled and Draining are the administrator's switches; an agent that is
	// disabled or draining gets nothing new.
	Enabled  bool
	Draining bool
	// Lost says that its link is broken and that it is waited for. It is not
	// enabled either; the launcher need not replace it yet.
	Lost  bool
	Slots []Slot
}

// Slot is one device of an agent.
type Slot struct {
	ID       int
	Enabled  bool
	Draining bool
}

// State is where an allocation stands, as far as placing is concerned.
//
//	Pending ──starts──▶ Running ──is asked to stop──▶ Releasing
type State string

const (
	// Pending waits for slots.
	Pending State = "pending"
	// Running holds the slots of its placement.
	Running State = "running"
	// Releasing holds them too, but was asked to give them up.
	Releasing State = "releasing"
)

// Allocation is one request for slots, waiting or served.
type Allocation struct {
	ID  AllocationID
	Job JobID
	// Slots is what the allocation needs in all; 0 makes it an auxiliary one,
	// which takes a place among an agent's MaxAux and no slot.
	Slots int
	// Priority is 1 (served first) to 99.
	Priority int
	// Position orders jobs of one priority; the smaller is ahead.
	Position  Position
	Submitted time.Time
	// Preemptible allocations may be asked to stop for more important ones.
	Preemptible bool
	// SingleNode allocations are never split over machines.
	SingleNode bool
	// Exclude lists agents that must not be used.
	Exclude []AgentID
	// MaxSlots limits what the allocations of the job hold together; 0 is no
	// limit.
	MaxSlots int

	State State
	// Deadline is when a releasing allocation is killed; zero means never.
	Deadline time.Time
	// Placement is what a running or releasing allocation holds.
	Placement []Share
}

// Share is what an allocation holds on one agent: one container's worth.
type Share struct {
	Agent AgentID
	// Slots are slot ids in ascending order; none for an auxiliary allocation.
	Slots []int
}

// Decision is what should happen now.
type Decision struct {
	Start   []Start
	Preempt []Preempt
	// Kill lists releasing allocations whose deadline has passed.
	Kill []AllocationID
	// Waiting says of every other pending allocation why it waits.
	Waiting []Waiting
	// Wake is when the decision changes without any further event: the next
	// deadline. Zero means never.
	Wake time.Time
}

// Start places one pending allocation.
type Start struct {
	Allocation AllocationID
	Placement  []Share
}

// Preempt asks a running allocation to give up its slots.
type Preempt struct {
	Allocation AllocationID
	// For is the allocation that gets them.
	For AllocationID
}

// Waiting is one pending allocation that does not start.
type Waiting struct {
	Allocation AllocationID
	Reason     Reason
}

// Reason is why an allocation waits, in words for its owner.
type Reason string

const (
	// ForSlots waits until something ends or a machine arrives.
	ForSlots Reason = "no free slots"
	// ForRelease waits until allocations that were asked to stop have stopped.
	ForRelease Reason = "slots are being released for it"
	// ForPriority waits because a more important task waits.
	ForPriority Reason = "a task of higher priority waits"
	// ForJobLimit waits because its job holds max_slots already.
	ForJobLimit Reason = "its job is at max_slots"
	// ForAgents waits because the pool has no agent that is enabled, and none may be
	// launched.
	ForAgents Reason = "no agent of the pool is connected and enabled"
	// ForCapacity waits although neither the pool's enabled agents nor what may
	// be launched could ever hold it.
	ForCapacity Reason = "larger than the pool"
)
