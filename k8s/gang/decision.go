package gang

import "time"

// Decision is the result of Decide.
type Decision struct {
	// Create lists queued gangs whose Job is to be created.
	Create []Create
	// Open lists gated gangs whose gates are to be removed together.
	Open []Open
	// Preempt lists running gangs to stop.
	Preempt []Preempt
	// Undo lists gangs whose objects are to be deleted; they are queued again.
	Undo []Undo
	// Kill lists releasing gangs whose deadline has passed.
	Kill []ID
	// Waiting maps every incomplete gang to its reason.
	Waiting map[ID]Reason
	// Lessons are the input of the next decision.
	Lessons []Lesson
	// Wake is the time at which the decision changes without any further event. Zero means never.
	Wake time.Time
}

// Create creates the Job of a gang.
type Create struct {
	Gang ID
	// Stretch is the new value of the gang's Stretched.
	Stretch bool
	// Ungated means that its pods need no gate: the scheduler may place each one immediately,
	// preferably on one of Nodes. The gang is then Binding.
	Ungated bool
	Nodes   []NodeID
}

// Open removes the gates of a gang.
type Open struct {
	Gang ID
	// Nodes contains, by rank, a node with room for each pod: a hint for the scheduler, which makes
	// the decision. It is empty if nodes are not known, or the gang does not fit yet.
	Nodes []NodeID
	// Stretch is the new value of the gang's Stretched.
	Stretch bool
}

// Preempt stops a running gang.
type Preempt struct {
	Gang ID
	// For is the gang that gets its room.
	For ID
}

// Undo undoes an attempt.
type Undo struct {
	Gang ID
	// Until is the new value of the gang's NotBefore; its Undone is incremented.
	Until time.Time
	// Reason is a message for the gang's owner.
	Reason string
}

// Reason is the reason why a gang waits.
type Reason struct {
	Kind Kind
	// Text is a sentence for its owner, with numbers.
	Text string
}

// Kind is the kind of a reason.
type Kind string

const (
	// ForRoom waits until a gang ends or a node is added.
	ForRoom Kind = "room"
	// ForRelease waits until stopping gangs have ended.
	ForRelease Kind = "release"
	// ForPriority waits because a more important gang waits for the same nodes.
	ForPriority Kind = "priority"
	// ForJobLimit waits because its job uses max_slots slots.
	ForJobLimit Kind = "job_limit"
	// ForCapacity waits although it would not fit in an empty cluster.
	ForCapacity Kind = "capacity"
	// ForBackOff waits after an undone attempt.
	ForBackOff Kind = "back_off"
	// ForPods waits until Kubernetes has created all of its pods.
	ForPods Kind = "pods"
	// ForScheduler waits until the scheduler has bound all of its pods.
	ForScheduler Kind = "scheduler"
	// ForAbsentScheduler waits for a scheduler that does not seem to run.
	ForAbsentScheduler Kind = "absent_scheduler"
)
