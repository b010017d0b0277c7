package gang

import "time"

// Decision is what should happen now.
type Decision struct {
	// Create lists queued gangs whose Job is to be made.
	Create []Create
	// Open lists gated gangs whose gates are to be taken away together.
	Open []Open
	// Preempt asks running gangs to make room.
	Preempt []Preempt
	// Undo lists gangs whose objects are to be deleted; they are queued again.
	Undo []Undo
	// Kill lists releasing gangs whose deadline has passed.
	Kill []ID
	// Waiting says of every gang that is not complete why.
	Waiting map[ID]Reason
	// Lessons are to be given to the next decision.
	Lessons []Lesson
	// Wake is when the decision changes without any further event. Zero means
	// never.
	Wake time.Time
}

// Create makes the Job of a gang.
type Create struct {
	Gang ID
	// Stretch is to be kept as the gang's Stretched.
	Stretch bool
	// Ungated says that its pods need no gate: the scheduler may place each as soon as it
	// is made, on one of Nodes rather than elsewhere. The gang is Binding from now on.
	Ungated bool
	Nodes   []NodeID
}

// Open lets the pods of a gang go.
type Open struct {
	Gang ID
	// Nodes says for each pod, by rank, on which node there is room for it: a
	// hint for the scheduler, which has the last word. It is empty when nodes
	// are not known, or the gang does not fit yet.
	Nodes []NodeID
	// Stretch is to be kept as the gang's Stretched.
	Stretch bool
}

// Preempt asks a running gang to give up what it holds.
type Preempt struct {
	Gang ID
	// For is the gang that gets it.
	For ID
}

// Undo takes back a try.
type Undo struct {
	Gang ID
	// Until is to be kept as the gang's NotBefore; its Undone grows by one.
	Until time.Time
	// Reason is for the gang's owner.
	Reason string
}

// Reason is why a gang waits.
type Reason struct {
	Kind Kind
	// Text is a sentence for its owner, with the numbers.
	Text string
}

// Kind distinguishes reasons.
type Kind string

const (
	// ForRoom waits until something ends or a node arrives.
	ForRoom Kind = "room"
	// ForRelease waits until gangs that were asked to stop have stopped.
	ForRelease Kind = "release"
	// ForPriority waits because a more important gang waits for the same nodes.
	ForPriority Kind = "priority"
	// ForJobLimit waits because its job holds max_slots already.
	ForJobLimit Kind = "job_limit"
	// ForCapacity waits although the cluster could not hold it even if empty.
	ForCapacity Kind = "capacity"
	// ForBackOff waits after a try that was undone.
	ForBackOff Kind = "back_off"
	// ForPods waits until Kubernetes has made all of its pods.
	ForPods Kind = "pods"
	// ForScheduler waits until the scheduler has bound all of its pods.
	ForScheduler Kind = "scheduler"
)
