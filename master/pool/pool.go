// Package pool decides which waiting tasks start on which machines, and which running tasks have to make
// room for them. It is pure: the same pool, queue and clock always give the same answer, so every rule
// has a row in a table test and none needs a machine.
package pool

import "time"

// AgentID names one machine of a pool.
type AgentID string

// AllocationID names one attempt to run a task, which is placed as a whole.
type AllocationID string

// JobID names the job whose queue position and slot limit an allocation shares.
type JobID string

// Fitting selects among several machines with enough room.
type Fitting string

const (
	// Best selects the machine with the least room left, so that whole machines stay free for large
	// tasks or can be terminated.
	Best Fitting = "best"
	// Worst selects the machine with the most room, so that tasks spread.
	Worst Fitting = "worst"
)

// Scheduler configures how a pool shares its machines.
type Scheduler struct {
	// Preemption allows a waiting task to preempt less important ones.
	Preemption bool
	Fitting    Fitting
	// DefaultPriority is the priority of jobs that name none; 1 is served first and 99 last.
	DefaultPriority int
}

// The range of priorities, and the priority of a job that names none.
const (
	HighestPriority = 1
	LowestPriority  = 99
	DefaultPriority = 42
)

// Pool is the input of a decision.
type Pool struct {
	Scheduler Scheduler
	// MaxAux is the number of zero-slot containers that one agent may run at a time; 0 excludes them
	// from the pool.
	MaxAux      int
	Agents      []Agent
	Allocations []Allocation
	// Inventory is the result of TakeInventory for Agents and MaxAux, for callers that reuse it. If it
	// is nil, Decide computes it.
	Inventory *Inventory
	// Room is the machines that may still be launched for the pool. Nothing is placed on them, but a
	// task that fits only with them waits instead of being passed over.
	Room []Shape
}

// Agent is one machine of the pool, reduced to what placement needs.
type Agent struct {
	ID AgentID
	// Enabled and Draining are set by the operator; a disabled or draining agent gets no new
	// allocations.
	Enabled  bool
	Draining bool
	// Lost reports that the connection to the agent is broken and that the master waits for it to
	// return. The agent is not enabled either, but the launcher need not replace it yet.
	Lost  bool
	Slots []Slot
}

// Slot is one device of an agent.
type Slot struct {
	ID       int
	Enabled  bool
	Draining bool
}

// State is the state of an allocation, reduced to what placement needs.
//
//	Pending ──starts──▶ Running ──asked to stop──▶ Releasing
type State string

const (
	// Pending waits for slots.
	Pending State = "pending"
	// Running holds the slots of its placement.
	Running State = "running"
	// Releasing still holds its slots, but was asked to give them up.
	Releasing State = "releasing"
)

// Allocation is one request for slots, waiting or served.
type Allocation struct {
	ID  AllocationID
	Job JobID
	// Slots is the total number of slots; 0 makes it an auxiliary allocation, which takes one of an
	// agent's MaxAux places and no slot.
	Slots int
	// Priority is 1 (served first) to 99.
	Priority int
	// Position orders jobs of one priority; smaller ones are ahead.
	Position  Position
	Submitted time.Time
	// Preemptible allocations may be asked to stop for more important ones.
	Preemptible bool
	// SingleNode allocations are never split over machines.
	SingleNode bool
	// Exclude lists agents that must not be used.
	Exclude []AgentID
	// MaxSlots limits the slots that the allocations of the job hold together; 0 means unlimited.
	MaxSlots int

	State State
	// Deadline is when a releasing allocation is killed; zero means never.
	Deadline time.Time
	// Placement is the agents and slots that a running or releasing allocation holds.
	Placement []Share
}

// Share is the part of an allocation on one agent, which runs in one container.
type Share struct {
	Agent AgentID
	// Slots are slot ids in ascending order; none for an auxiliary allocation.
	Slots []int
}

// Decision lists the actions to take now.
type Decision struct {
	Start   []Start
	Preempt []Preempt
	// Kill lists releasing allocations whose deadline has passed.
	Kill []AllocationID
	// Waiting lists every other pending allocation with the reason why it waits.
	Waiting []Waiting
	// Wake is the next deadline, when the decision changes without any further event. Zero means never.
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
	// For is the allocation that gets the slots.
	For AllocationID
}

// Waiting is a pending allocation that does not start.
type Waiting struct {
	Allocation AllocationID
	Reason     Reason
}

// Reason is why an allocation waits, in words for its owner.
type Reason string

const (
	// ForSlots waits until an allocation ends or a machine joins.
	ForSlots Reason = "no free slots"
	// ForRelease waits until preempted allocations have stopped.
	ForRelease Reason = "slots are being released for it"
	// ForPriority waits because a more important task waits.
	ForPriority Reason = "a task of higher priority waits"
	// ForJobLimit waits because its job already holds max_slots.
	ForJobLimit Reason = "its job is at max_slots"
	// ForAgents waits because the pool has no enabled agent, and none may be launched.
	ForAgents Reason = "no agent of the pool is connected and enabled"
	// ForCapacity waits although neither the pool's enabled agents nor the machines that may still be
	// launched could ever hold it.
	ForCapacity Reason = "larger than the pool"
)
